import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pino } from "pino";
import { expect } from "vitest";
import { z } from "zod";
import { createApp } from "../../src/http/app.ts";
import { loadProjectWorkflow, toStem, trustWorkflow } from "../../src/projects/project-workflows.ts";
import { projectRoutes } from "../../src/projects/project.routes.ts";
import { resolveProject } from "../../src/projects/project.ts";
import type { Db } from "../../src/db/tables.ts";
import { describeOnBases } from "./support/database.ts";
import { createProjectBench } from "./support/project-bench.ts";
import type { ProjectBench } from "./support/project-bench.ts";

const TOKEN = "0123456789abcdef";
const Page = z.object({ items: z.array(z.object({ id: z.string() })), next: z.string().nullable() });
const Refusal = z.object({ error: z.object({ code: z.string(), message: z.string(), field: z.string().optional() }) });

/** A sample of its own name, so that the tests of one file can share a database. */
async function open(db: Db, name: string) {
  const bench = await createProjectBench();
  const { path: repo } = await bench.sample(name);
  const app = createApp({
    token: TOKEN,
    version: "0",
    log: pino({ level: "silent" }),
    routes: [projectRoutes({ db, git: bench.git, dataDir: bench.config.dataDir })],
    health: async () => ({}),
  });
  const call = async (method: string, path: string, body?: unknown) => {
    const response = await app.request(`/api${path}`, {
      method,
      headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, body: text === "" ? null : (JSON.parse(text) as Record<string, unknown>) };
  };
  return { bench, repo, call, deps: { db, git: bench.git } };
}

async function writeWorkflow(repo: string, file: string, content: string): Promise<void> {
  await mkdir(join(repo, ".harnais", "workflows"), { recursive: true });
  await writeFile(join(repo, ".harnais", "workflows", file), content);
}

const makeWorktree = async (bench: ProjectBench, repo: string): Promise<string> => {
  await bench.run(repo, "worktree", "add", "--quiet", "-b", "other", join(bench.dir, "linked"));
  return join(bench.dir, "linked");
};

describeOnBases("projects", (test) => {
  test("an unknown path makes the row, with the branch and the commands that its repository shows", async ({ db }) => {
    const { bench, repo, deps } = await open(db, "Été");
    const made = await resolveProject(deps, repo, bench.signal);
    expect(made).toMatchObject({ id: "ete", name: "Été", repo, baseBranch: "main", agent: "pi", model: null, validationAttempts: 3 });
    expect(made).toMatchObject({ validation: ["npm test"], validationDetected: true });
    expect(await resolveProject(deps, "ete", bench.signal)).toEqual(made);
  });

  test("a subfolder and a linked worktree are the same project; another folder of that name gets another id", async ({ db }) => {
    const { bench, repo, deps } = await open(db, "same");
    const { id } = await resolveProject(deps, join(repo, "src"), bench.signal);
    expect((await resolveProject(deps, await makeWorktree(bench, repo), bench.signal)).id).toBe(id);
    const other = await open(db, "same");
    expect((await resolveProject(deps, other.repo, bench.signal)).id).toBe("same-2");
  });

  test("made by two at one moment it is one row", async ({ db }) => {
    const { bench, repo, deps } = await open(db, "twins");
    const made = await Promise.all([1, 2, 3].map(() => resolveProject(deps, repo, bench.signal)));
    expect(new Set(made.map(({ id }) => id))).toEqual(new Set(["twins"]));
  });

  test("what is no project is refused with a clear error", async ({ db }) => {
    const { bench, deps } = await open(db, "refusals");
    await expect(resolveProject(deps, "nobody", bench.signal)).rejects.toMatchObject({
      code: "not-found",
      message: expect.stringContaining("no project nobody"),
    });
    await expect(resolveProject(deps, bench.dir, bench.signal)).rejects.toMatchObject({ code: "not-a-repository" });
    await expect(resolveProject(deps, "relative/path", bench.signal)).rejects.toMatchObject({ code: "bad-input", field: "repo" });
    await expect(resolveProject(deps, "x'; drop table projects; --/", bench.signal)).rejects.toMatchObject({ code: "bad-input" });
  });

  test("rows are added, shown, changed, listed page by page and removed over HTTP", async ({ db }) => {
    const { repo, call } = await open(db, "routes");
    const added = await call("POST", "/projects", { repo, id: "zz-routes", validation: ["npm test", "true"], model: "rehearsal/demo" });
    expect(added).toMatchObject({
      status: 201,
      body: { id: "zz-routes", validation: ["npm test", "true"], validationDetected: false, model: "rehearsal/demo" },
    });
    expect(await call("GET", "/projects/zz-routes")).toMatchObject({ status: 200, body: { repo } });
    const changed = await call("PATCH", "/projects/zz-routes", { name: "Routes", validation: [], validationAttempts: 0, model: null });
    expect(changed).toMatchObject({
      status: 200,
      body: { name: "Routes", validation: ["npm test"], validationDetected: true, validationAttempts: 0, model: null },
    });
    const ids: string[] = [];
    for (let after: string | null = ""; after !== null;) {
      const { body } = await call("GET", `/projects?limit=2&after=${after}`);
      const page: z.infer<typeof Page> = Page.parse(body);
      ids.push(...page.items.map(({ id }) => id));
      after = page.next;
    }
    expect(ids).toEqual([...new Set(ids)].toSorted((a, b) => (a < b ? -1 : 1)));
    expect(ids).toContain("zz-routes");
    expect(await call("DELETE", "/projects/zz-routes")).toEqual({ status: 204, body: null });
    expect(await call("DELETE", "/projects/zz-routes")).toMatchObject({ status: 404, body: { error: { code: "not-found" } } });
  });

  test("bad input over HTTP is a 4xx that names the field", async ({ db }) => {
    const { bench, repo, call } = await open(db, "bad-input");
    await call("POST", "/projects", { repo, id: "taken" });
    const other = await bench.sample("bad-input-2");
    const cases: [string, string, unknown, number, string | undefined][] = [
      ["POST", "/projects", { repo }, 409, "repo"],
      ["POST", "/projects", { repo: other.path, id: "taken" }, 409, "id"],
      ["POST", "/projects", { repo: other.path, id: "No Slug" }, 400, "id"],
      ["POST", "/projects", { repo: other.path, baseBranch: "nope" }, 400, "baseBranch"],
      ["POST", "/projects", { repo: other.path, baseBranch: "-x" }, 422, "baseBranch"],
      ["POST", "/projects", { repo: other.path, typo: 1 }, 400, "typo"],
      ["POST", "/projects", { repo: `${other.path}\u0000` }, 400, "repo"],
      ["POST", "/projects", { repo: "here" }, 400, "repo"],
      ["POST", "/projects", { repo: bench.dir }, 422, "repo"],
      ["POST", "/projects", {}, 400, "repo"],
      ["POST", "/projects", "{", 400, undefined],
      ["POST", "/projects", "[]", 400, undefined],
      ["PATCH", "/projects/taken", {}, 400, undefined],
      ["PATCH", "/projects/taken", { repo: other.path }, 400, "repo"],
      ["PATCH", "/projects/taken", { validationAttempts: 11 }, 400, "validationAttempts"],
      ["PATCH", "/projects/taken", { baseBranch: "nope" }, 400, "baseBranch"],
      ["PATCH", "/projects/nobody", { name: "x" }, 404, undefined],
      ["GET", "/projects/No%20Slug", undefined, 400, "id"],
      ["GET", "/projects/nobody", undefined, 404, undefined],
      ["GET", "/projects?limit=201", undefined, 400, "limit"],
      ["POST", "/projects/taken/trust", { file: "nope.ts" }, 404, "file"],
      ["POST", "/projects/taken/trust", { file: "../../etc/passwd" }, 404, "file"],
    ];
    for (const [method, path, body, status, field] of cases) {
      const answer = await call(method, path, body);
      expect({ path, body, status: answer.status, field: Refusal.parse(answer.body).error.field }).toEqual({
        path,
        body,
        status,
        field,
      });
    }
  });

  test("a project with a run or a request cannot be removed", async ({ db }) => {
    const { bench, repo, call, deps } = await open(db, "kept");
    const { id } = await resolveProject(deps, repo, bench.signal);
    await db
      .insertInto("runs")
      .values({ runId: "abcdef01", projectId: id, workflow: "change", input: "x", status: "done", level: "none", rehearsal: true })
      .execute();
    expect(await call("DELETE", `/projects/${id}`)).toMatchObject({ status: 409, body: { error: { code: "conflict" } } });
    expect((await call("GET", `/projects/${id}`)).status).toBe(200);
  });

  test("a workflow file runs only as it was trusted", async ({ db }) => {
    const { bench, repo, deps } = await open(db, "flows");
    const project = await resolveProject(deps, repo, bench.signal);
    const flows = { db, dataDir: bench.config.dataDir };
    expect(await loadProjectWorkflow(flows, project, "release")).toBeUndefined();
    await writeWorkflow(
      repo,
      "release.mts",
      `import type { Run } from "harnais/workflow";\nexport default async (run: Run): Promise<string> => run.input;\n`,
    );
    const untrusted = {
      code: "untrusted-workflow",
      message: expect.stringContaining("`harnais projects trust flows .harnais/workflows/release.mts`"),
    };
    await expect(loadProjectWorkflow(flows, project, "release")).rejects.toMatchObject(untrusted);
    const { sha256 } = await trustWorkflow(flows, project, ".harnais/workflows/release.mts");
    const loaded = await loadProjectWorkflow(flows, project, "release");
    expect(loaded?.sha).toBe(sha256);
    const workflow = loaded?.exported as (run: { input: string }) => Promise<string>;
    expect(await workflow({ input: "hello" })).toBe("hello");
    const copy = join(bench.config.dataDir, "workflows", `${sha256}.mts`);
    await writeFile(copy, "export default 'forged';");
    await loadProjectWorkflow(flows, project, "release");
    expect(await readFile(copy, "utf8")).toContain("run.input");
    await writeWorkflow(repo, "release.mts", "export default async () => 'changed';\n");
    await expect(loadProjectWorkflow(flows, project, "release")).rejects.toMatchObject({
      code: "untrusted-workflow",
      message: expect.stringContaining("has changed"),
    });
  });

  test("two files of one name, a link and a file that cannot be imported are bad workflows", async ({ db }) => {
    const { bench, repo, deps } = await open(db, "bad-flows");
    const project = await resolveProject(deps, repo, bench.signal);
    const flows = { db, dataDir: bench.config.dataDir };
    for (const file of ["two.ts", "two.mts", "broken.ts"]) await writeWorkflow(repo, file, "export default (;");
    await expect(loadProjectWorkflow(flows, project, "two")).rejects.toMatchObject({ code: "bad-workflow" });
    await trustWorkflow(flows, project, "broken.ts");
    await expect(loadProjectWorkflow(flows, project, "broken")).rejects.toMatchObject({
      code: "bad-workflow",
      message: expect.stringContaining(".harnais/workflows/broken.ts cannot be imported"),
    });
    expect(await loadProjectWorkflow(flows, project, "../../package")).toBeUndefined();
    expect(toStem(".harnais/workflows/a.b.mts")).toBe("a.b");
  });
});
