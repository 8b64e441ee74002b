import { CreateRequestBody, PageQuery } from "@harnais/contracts/api-bodies.ts";
import { RequestIdSchema } from "@harnais/contracts/ids.ts";
import { Hono } from "hono";
import { z } from "zod";
import { validate } from "../http/validate.ts";
import type { RequestService } from "./request-service.ts";

const Params = z.object({ requestId: RequestIdSchema });

/** `resolveProject`: a row's id or a path; undefined asks for the only project there is. */
export function requestRoutes(requests: RequestService, resolveProject: (idOrPath: string | undefined) => Promise<string | null>): Hono {
  return new Hono()
    .post("/requests", validate("json", CreateRequestBody), async (c) => {
      const { project, ...request } = c.req.valid("json");
      const { requestId, status } = await requests.create({ ...request, projectId: await resolveProject(project) });
      return c.json({ requestId, status }, 201);
    })
    .get("/requests", validate("query", PageQuery), async (c) => {
      const { after, limit } = c.req.valid("query");
      return c.json(await requests.list({ limit, ...(after === undefined ? {} : { after }) }));
    })
    .get("/requests/:requestId", validate("param", Params), async (c) => c.json(await requests.report(c.req.valid("param").requestId)));
}
