import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createRunId, randomHex } from "@harnais/contracts/ids.ts";
import { afterAll, beforeAll, expect } from "vitest";
import {
  getRun,
  insertRun,
  leaseAbandonedRuns,
  leaseNextRun,
  leaseRun,
  releaseLease,
  renewLease,
  updateRun,
} from "../../src/runs/run.sql.ts";
import { savePhaseFacts } from "../../src/runs/event.sql.ts";
import { openDatabase } from "../../src/db/open-database.ts";
import { describeOnBases } from "./support/database.ts";
import { openFactory, type RunningFactory } from "./support/running-factory.ts";

const LEASE_MS = 60_000;

describeOnBases("leases of runs", (test) => {
  const project = `p-${randomHex(4)}`;
  const isLive = (): boolean => false;

  test("a run has one holder; a former holder's writes are void", async ({ db }) => {
    await insertProject(db, project);
    const runId = await queue(db, project);
    // Two at once, each on its own connection where there is one.
    const taken = await Promise.all(["a", "b", "c"].map((owner) => leaseRun(db, { runId, owner, leaseMs: LEASE_MS })));
    const [lease] = taken.filter((candidate) => candidate !== undefined);
    expect(taken.filter((candidate) => candidate !== undefined)).toHaveLength(1);
    if (lease === undefined) throw new Error("nobody got the run");
    expect(await renewLease(db, lease, LEASE_MS)).toBe(true);
    expect(await updateRun(db, lease, { branch: "harnais/x" })).toBe(true);

    await releaseLease(db, lease);
    const [next] = await leaseAbandonedRuns(db, { owner: "next", leaseMs: LEASE_MS, isSoleProcess: false, isLive });
    expect(next).toMatchObject({ runId, fence: lease.fence + 1 });
    expect(await renewLease(db, lease, LEASE_MS)).toBe(false);
    expect(await updateRun(db, lease, { branch: "harnais/y" })).toBe(false);
    expect(await savePhaseFacts(db, lease, { phaseId: `${runId}-01`, resultJson: "1" })).toBe(false);
    expect((await getRun(db, runId))?.branch).toBe("harnais/x");
  });

  test("a lease that is still good is left alone, but for the sole process of an embedded base; a live run always", async ({ db }) => {
    const runId = await queue(db, project);
    await leaseRun(db, { runId, owner: "other-1", leaseMs: LEASE_MS });
    const take = (options: { isSoleProcess: boolean; isLive(): boolean; owner: string }) =>
      leaseAbandonedRuns(db, { leaseMs: LEASE_MS, ...options });
    expect(await take({ owner: "me", isSoleProcess: false, isLive })).not.toContainEqual(expect.objectContaining({ runId }));
    expect(await take({ owner: "other", isSoleProcess: true, isLive })).not.toContainEqual(expect.objectContaining({ runId }));
    expect(await take({ owner: "me", isSoleProcess: true, isLive: () => true })).toEqual([]);
    expect(await take({ owner: "me", isSoleProcess: true, isLive })).toContainEqual(expect.objectContaining({ runId }));
  });

  test("queued runs are taken oldest first", async ({ db }) => {
    const runIds = [await queue(db, project), await queue(db, project), await queue(db, project)];
    const taken = [];
    for (let lease = await leaseNextRun(db, "w", LEASE_MS); lease !== undefined; lease = await leaseNextRun(db, "w", LEASE_MS))
      taken.push(lease.runId);
    expect(taken).toEqual(runIds);
  });
});

type TestDb = Parameters<typeof insertRun>[0];

async function insertProject(db: TestDb, id: string): Promise<void> {
  const row = { id, name: id, repo: `/nowhere/${id}`, baseBranch: "main", validation: [], validationAttempts: 3, agent: "pi" as const };
  await db
    .insertInto("projects")
    .values({ ...row, model: null, ceilings: "{}", scope: null, allowHosts: [], trusted: "{}" })
    .execute();
}

async function queue(db: TestDb, projectId: string): Promise<string> {
  const runId = createRunId();
  await insertRun(db, { runId, requestId: null, projectId, workflow: "prompt", workflowSha: null, input: "x", agent: null, model: null });
  return runId;
}

describeOnBases("the engine", (test) => {
  let factory: RunningFactory | undefined;
  beforeAll(() => {
    factory = undefined;
  });
  afterAll(() => factory?.close());

  const post = (path: string, body: object): Promise<Response> => {
    if (factory === undefined) throw new Error("no factory");
    return factory.send(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
  };

  /** Trusts a project's workflow and starts it. */
  async function start(name: string, source: string): Promise<string> {
    if (factory === undefined) throw new Error("no factory");
    const folder = join(factory.plume, ".harnais", "workflows");
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, `${name}.ts`), source);
    expect((await post("/api/projects/plume/trust", { file: `${name}.ts` })).status).toBe(200);
    const response = await post("/api/runs", { workflow: name, input: "go", project: factory.plume });
    expect(response.status).toBe(201);
    return ((await response.json()) as { runId: string }).runId;
  }

  test("carries out what it is given, once each", async ({ testDatabase }) => {
    factory = await openFactory({ databaseUrl: testDatabase.databaseUrl });
    // The project's row, which trusting needs.
    await factory.finished(await factory.start({ workflow: "prompt", input: "Que fait ce projet ?" }));
    const quick = `export default async (run) => run.code("step", async () => 1);`;
    const first = await start("quick", quick);
    await factory.finished(first);
    const answers = await Promise.all(
      Array.from({ length: 12 }, () => post("/api/runs", { workflow: "quick", input: "go", project: factory?.plume })),
    );
    const runIds = await Promise.all(answers.map(async (answer) => ((await answer.json()) as { runId: string }).runId));
    for (const runId of runIds) {
      expect(await factory.finished(runId)).toMatchObject({ status: "done" });
      const types = factory.events(runId).map(({ type }) => type);
      expect(types.filter((type) => type === "run_start")).toHaveLength(1);
      expect(types.filter((type) => type === "run_finish")).toHaveLength(1);
      expect(types.slice(0, 2)).toEqual(["run_queued", "run_start"]);
    }
  });

  test("asks, waits, and goes on with the one answer", async () => {
    const running = factory;
    if (running === undefined) throw new Error("no factory");
    const runId = await start("asks", `export default async (run) => "heard " + (await run.ask("Which colour?"));`);
    await expect.poll(async () => ((await (await running.send(`/api/runs/${runId}`)).json()) as { status: string }).status).toBe("waiting");
    const [first, second] = await Promise.all([
      post(`/api/runs/${runId}/answer`, { text: "green" }),
      post(`/api/runs/${runId}/answer`, { text: "red" }),
    ]);
    expect(new Set([first.status, second.status])).toEqual(new Set([202, 409]));
    const report = await running.finished(runId);
    expect(report).toMatchObject({ status: "done" });
    expect(report.text).toMatch(/^heard (green|red)$/);
    expect(running.events(runId).map(({ type }) => type)).toEqual(expect.arrayContaining(["run_waiting", "run_resumed"]));
  });

  test("cancels a run that waits", async () => {
    const runId = await start("waits", `export default async (run) => { await run.ask("Well?"); };`);
    await expect.poll(async () => (await post(`/api/runs/${runId}/cancel`, {})).status).toBe(202);
    expect(await factory?.finished(runId)).toMatchObject({ status: "cancelled" });
  });

  test("ends a phase that nobody awaited before the run ends", async () => {
    const runId = await start(
      "forgets",
      `export default async (run) => { void run.agent("left", { prompt: "wait", mode: "explore", model: "rehearsal/stall" }); await new Promise((r) => setTimeout(r, 50)); };`,
    );
    const report = await factory?.finished(runId);
    expect(report).toMatchObject({ status: "failed" });
    expect(report?.reason).toContain("await each phase");
    expect(report?.phases.map(({ name, status }) => [name, status])).toEqual([
      ["worktree", "done"],
      ["left", "cancelled"],
    ]);
    // What the runner counted is stored before the run's end.
    expect(factory?.events(runId).at(-1)?.type).toBe("run_finish");
  });

  test("is not green when a phase failed, whatever the workflow catches, and begins no further phase", async () => {
    const runId = await start(
      "catches",
      `export default async (run) => {
         try { await run.code("bad", async () => run.fail("no")); } catch {}
         try { await run.code("after", async () => 1); } catch {}
         return "fine";
       };`,
    );
    const report = await factory?.finished(runId);
    expect(report).toMatchObject({ status: "failed", reason: "no" });
    expect(report?.phases.map(({ name }) => name)).toEqual(["worktree", "bad"]);
  });

  test.each([
    ["no mode", `{ prompt: "x" }`, "mode"],
    ["an unknown mode", `{ prompt: "x", mode: "admin" }`, "mode"],
    ["an unknown field", `{ prompt: "x", mode: "explore", modle: "a/b" }`, "modle"],
    ["an empty prompt", `{ prompt: " ", mode: "explore" }`, "prompt"],
  ])("refuses an agent phase with %s before it begins", async (title, spec, field) => {
    const runId = await start(`spec-${title.replaceAll(" ", "-")}`, `export default async (run) => { await run.agent("a", ${spec}); };`);
    const report = await factory?.finished(runId);
    expect(report).toMatchObject({ status: "failed" });
    expect(report?.reason).toContain(field);
    expect(report?.phases.map(({ name }) => name)).toEqual(["worktree"]);
  });

  test.each([
    ["an empty name", `run.code("", async () => 1)`, "is not a phase name"],
    ["a name with a line end", `run.code("a\\nb", async () => 1)`, "is not a phase name"],
    ["a bad label", `run.agent("a", { prompt: "x", mode: "explore", label: "No Such!" })`, "is not a phase label"],
    ["a reason that is no text", `run.code("a", async () => run.fail({ a: 1 }))`, "run.fail got"],
  ])("refuses %s", async (title, call, says) => {
    const runId = await start(`odd-${title.replaceAll(" ", "-")}`, `export default async (run) => { await ${call}; };`);
    const report = await factory?.finished(runId);
    expect(report).toMatchObject({ status: "failed" });
    expect(report?.reason).toContain(says);
  });

  test("keeps what it knows as a secret out of events, rows and journals", async () => {
    const running = factory;
    if (running === undefined) throw new Error("no factory");
    const token = `ghp_${randomHex(18)}`;
    const runId = await start("tells", `export default async (run) => run.fail("the token is ${token}");`);
    const report = await running.finished(runId);
    expect(JSON.stringify(report)).not.toContain(token);
    expect(readFileSync(join(running.dataDir, "traces", `${runId}.jsonl`), "utf8")).not.toContain(token);
    const asked = (await (await post("/api/requests", { text: `use ${token}`, project: "plume", intent: "noise" })).json()) as {
      requestId: string;
    };
    expect(await (await running.send(`/api/requests/${asked.requestId}`)).text()).not.toContain(token);
  });
});

describeOnBases("a start after a crash", (test) => {
  test("hands on a request that was stored and not handed on, and completes the journal of a finished run", async ({ testDatabase }) => {
    const { databaseUrl } = testDatabase;
    const first = await openFactory({ databaseUrl });
    const runId = await first.start({ workflow: "prompt", input: "Que fait ce projet ?" });
    const { project } = await first.finished(runId);
    const journal = join(first.dataDir, "traces", `${runId}.jsonl`);
    const root = await first.stop();
    const whole = readFileSync(journal, "utf8");
    writeFileSync(journal, whole.slice(0, whole.lastIndexOf("\n", whole.length - 2) + 1));
    const database = await openDatabase({ dataDir: first.dataDir, databaseUrl });
    await storeOldRequest(database.db, project);
    await database.close();

    const second = await openFactory({ databaseUrl, root });
    try {
      expect(readFileSync(journal, "utf8")).toBe(whole);
      const request = (await (await second.send("/api/requests/req_0123456789ab")).json()) as { runId: string; status: string };
      expect(await second.finished(request.runId)).toMatchObject({ status: "done", workflow: "prompt", requestId: "req_0123456789ab" });
    } finally {
      await second.close();
    }
  });
});

/** A request of an hour ago that got no further than its first row. */
async function storeOldRequest(db: TestDb, projectId: string): Promise<void> {
  const createdAt = new Date(Date.now() - 3_600_000).toISOString();
  const row = { id: "req_0123456789ab", door: "console" as const, text: "Que fait ce projet ?", projectId, scope: null };
  await db
    .insertInto("requests")
    .values({ ...row, intent: "question", status: "received", reason: null, createdAt })
    .execute();
}
