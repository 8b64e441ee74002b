import { AnswerBody, CancelBody, type CreateRun, CreateRunBody, RunsQuery } from "@harnais/contracts/api-bodies.ts";
import { RunIdSchema } from "@harnais/contracts/ids.ts";
import { Hono } from "hono";
import { z } from "zod";
import { validate } from "../http/validate.ts";
import type { RunService } from "./run-service.ts";
import type { WorkProject } from "./workbench.ts";

const Params = z.object({ runId: RunIdSchema });

export interface RunRoutesDeps {
  readonly runs: RunService;
  /** A row's id or a path; an unknown path makes the row. @throws not-found, not-a-repository */
  resolveProject(idOrPath: string): Promise<WorkProject>;
  /** The same, looked up only: reading makes no row. @throws not-found, not-a-repository */
  findProject(idOrPath: string): Promise<WorkProject>;
  /** @throws unknown-provider, unknown-model */
  checkModel(model: string, project: WorkProject): Promise<void>;
}

export function runRoutes({ runs, resolveProject, findProject, checkModel }: RunRoutesDeps): Hono {
  const create = async ({ project, ...run }: CreateRun): Promise<string> => {
    const resolved = await resolveProject(project);
    if (run.model !== undefined) await checkModel(run.model, resolved);
    return runs.create({ ...run, project: resolved });
  };
  return new Hono()
    .get("/runs", validate("query", RunsQuery), async (c) => {
      const { after, limit, status, project } = c.req.valid("query");
      const page = await runs.list({
        limit,
        ...(after === undefined ? {} : { after }),
        ...(status === undefined ? {} : { status }),
        ...(project === undefined ? {} : { projectId: (await findProject(project)).id }),
      });
      return c.json(page);
    })
    .post("/runs", validate("json", CreateRunBody), async (c) => c.json({ runId: await create(c.req.valid("json")) }, 201))
    .get("/runs/:runId", validate("param", Params), async (c) => c.json(await runs.report(c.req.valid("param").runId)))
    .post("/runs/:runId/cancel", validate("param", Params), validate("json", CancelBody), async (c) => {
      await runs.cancel(c.req.valid("param").runId, c.req.valid("json").reason);
      return c.json({}, 202);
    })
    .post("/runs/:runId/answer", validate("param", Params), validate("json", AnswerBody), async (c) => {
      await runs.answer(c.req.valid("param").runId, c.req.valid("json").text);
      return c.json({}, 202);
    });
}
