import {
  AnswerBody,
  CancelBody,
  CreateRequestBody,
  CreateRunBody,
  PriceBody,
  ProjectBody,
  ProviderBody,
  RequestView,
} from "@harnais/contracts/api-bodies.ts";
import { RunReportSchema } from "@harnais/contracts/run-report.ts";
import { z, type ZodType } from "zod";

interface Operation {
  readonly summary: string;
  readonly body?: ZodType;
  readonly answer?: ZodType;
  readonly status?: number;
  readonly isList?: boolean;
}

const Id = z.object({ runId: z.string() });
const Created = z.object({ requestId: z.string(), status: z.string() });

/** Every route under /api; a test compares it with the routes that the application really has. */
export const OPERATIONS: Readonly<Record<string, Operation>> = {
  "GET /api/openapi.json": { summary: "This document" },
  "GET /api/events": { summary: "Events as server-sent events; replay by Last-Event-ID, `?run=` filters" },
  "POST /api/requests": { summary: "Put a request through the console door", body: CreateRequestBody, answer: Created, status: 201 },
  "GET /api/requests": { summary: "Requests, newest first", answer: RequestView, isList: true },
  "GET /api/requests/{requestId}": { summary: "One request", answer: RequestView },
  "POST /api/runs": { summary: "Start a run of a workflow", body: CreateRunBody, answer: Id, status: 201 },
  "GET /api/runs": { summary: "Runs, newest first", answer: RunReportSchema, isList: true },
  "GET /api/runs/{runId}": { summary: "One run, phase by phase, attempt by attempt", answer: RunReportSchema },
  "POST /api/runs/{runId}/cancel": { summary: "Cancel a run; its agents get SIGTERM", body: CancelBody, status: 202 },
  "POST /api/runs/{runId}/answer": { summary: "Answer the question of a waiting run", body: AnswerBody, status: 202 },
  "GET /api/projects": { summary: "Projects", isList: true },
  "GET /api/projects/{id}": { summary: "One project" },
  "POST /api/projects": { summary: "Add a project", body: ProjectBody, status: 201 },
  "PATCH /api/projects/{id}": { summary: "Change a project", body: ProjectBody.partial() },
  "DELETE /api/projects/{id}": { summary: "Remove a project without runs", status: 204 },
  "GET /api/providers": { summary: "Model providers", isList: true },
  "GET /api/providers/{name}": { summary: "One provider" },
  "POST /api/providers": { summary: "Add a provider; its key by the name of an environment variable", body: ProviderBody, status: 201 },
  "PATCH /api/providers/{name}": { summary: "Change a provider", body: ProviderBody.partial() },
  "DELETE /api/providers/{name}": { summary: "Remove a provider", status: 204 },
  "POST /api/projects/{id}/trust": {
    summary: "Trust the present content of a project's workflow file",
    body: z.strictObject({ file: z.string() }),
  },
  "GET /api/prices": { summary: "Price rows, USD per million tokens", isList: true },
  "POST /api/prices": { summary: "Add a price row; rows never change", body: PriceBody, status: 201 },
  "GET /api/prices/{id}": { summary: "One price row, `provider/model@version`" },
  "PATCH /api/prices/{id}": { summary: "Refused: prices never change", status: 409 },
  "DELETE /api/prices/{id}": { summary: "Refused: prices never change", status: 409 },
};

/** OpenAPI 3.1 of the API, from the zod schemas. */
export function toOpenApi(version: string): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const [route, operation] of Object.entries(OPERATIONS)) {
    const [method = "GET", path = ""] = route.split(" ");
    (paths[path] ??= {})[method.toLowerCase()] = toOperation(path, operation);
  }
  return {
    openapi: "3.1.0",
    info: { title: "Harnais", version },
    components: { securitySchemes: { token: { type: "http", scheme: "bearer" } } },
    security: [{ token: [] }],
    paths,
  };
}

function toOperation(path: string, { summary, body, answer, status = 200, isList = false }: Operation): object {
  const parameters = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({ name, in: "path", required: true, schema: { type: "string" } }));
  const shape = isList ? z.object({ items: z.array(answer ?? z.looseObject({})), next: z.string().nullable() }) : answer;
  const content = (schema: ZodType): object => ({
    "application/json": { schema: z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }) },
  });
  return {
    summary,
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined ? {} : { requestBody: { required: true, content: content(body) } }),
    responses: {
      [status]: { description: "done", ...(shape === undefined ? {} : { content: content(shape) }) },
      default: { description: "refused: `{error: {code, message, field?}}`" },
    },
  };
}
