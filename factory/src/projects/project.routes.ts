import { PageQuery, ProjectBody, SLUG } from "@harnais/contracts/api-bodies.ts";
import { Hono } from "hono";
import { z } from "zod";
import { validate } from "../http/validate.ts";
import { FactoryError } from "../lib/errors.ts";
import { trustWorkflow } from "./project-workflows.ts";
import { addProject, changeProject, getProject, toView } from "./project.ts";
import type { ProjectDeps } from "./project.ts";
import type { ProjectChange } from "./project.sql.ts";
import { countProjectUses, deleteProject, listProjects } from "./project.sql.ts";

const Params = z.object({ id: z.string().regex(SLUG, "is a project's id: a-z, 0-9 and -") });
const ChangeBody = ProjectBody.omit({ id: true, repo: true })
  .partial()
  .extend({ model: ProjectBody.shape.model.nullable(), scope: ProjectBody.shape.scope.nullable() })
  .refine((change) => Object.keys(change).length > 0, "names nothing to change");
const TrustBody = z.strictObject({ file: z.string().trim().min(1).max(4096) });

export interface ProjectRoutesDeps extends ProjectDeps {
  readonly dataDir: string;
}

/** `/projects`: rows, and the trust in a project's own workflow files. */
export function projectRoutes(deps: ProjectRoutesDeps): Hono {
  const { db } = deps;
  return new Hono()
    .get("/projects", validate("query", PageQuery), async (c) => {
      const { after, limit } = c.req.valid("query");
      const rows = await listProjects(db, { after, limit: limit + 1 });
      const items = rows.slice(0, limit);
      const next = rows.length > limit ? (items.at(-1)?.id ?? null) : null;
      return c.json({ items: await Promise.all(items.map(toView)), next });
    })
    .post("/projects", validate("json", ProjectBody), async (c) =>
      c.json(await addProject(deps, c.req.valid("json"), c.req.raw.signal), 201),
    )
    .get("/projects/:id", validate("param", Params), async (c) => c.json(await getProject(db, c.req.valid("param").id)))
    .patch("/projects/:id", validate("param", Params), validate("json", ChangeBody), async (c) => {
      const change = withoutUndefined(c.req.valid("json"));
      return c.json(await changeProject(deps, { id: c.req.valid("param").id, change }, c.req.raw.signal));
    })
    .delete("/projects/:id", validate("param", Params), async (c) => {
      await removeProject(deps, c.req.valid("param").id);
      return c.body(null, 204);
    })
    .post("/projects/:id/trust", validate("param", Params), validate("json", TrustBody), async (c) => {
      const project = await getProject(db, c.req.valid("param").id);
      return c.json(await trustWorkflow(deps, project, c.req.valid("json").file));
    });
}

/** zod gives absent optional keys no value, but types them as possibly undefined. */
function withoutUndefined(change: z.infer<typeof ChangeBody>): ProjectChange {
  return Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));
}

const FOREIGN_KEY_VIOLATION = "23503";

async function removeProject({ db }: ProjectRoutesDeps, id: string): Promise<void> {
  if ((await countProjectUses(db, id)) > 0) throw inUse(id);
  // A run may begin between the two statements: then the base refuses.
  const isGone = await deleteProject(db, id).catch((error: unknown) => {
    throw error instanceof Error && "code" in error && error.code === FOREIGN_KEY_VIOLATION ? inUse(id) : error;
  });
  if (!isGone) throw new FactoryError("not-found", `no project ${id}: \`harnais projects list\` shows them`);
}

const inUse = (id: string): FactoryError =>
  new FactoryError("conflict", `project ${id} has runs or requests: their history needs it, it cannot be removed`);
