import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, expect, test } from "vitest";
import { recoverBills } from "../../src/llm-proxy/recover-bills.ts";
import { HELLO, HELLO_STREAM, JOB_ID, openProxyHouse, readBillLines } from "./support/proxy-house.ts";
import { startScriptedUpstream, startStream, STREAM, textEvent } from "./support/scripted-upstream.ts";

const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "harnais-bills-"));
  cleanups.push(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

test("while bills cannot be written no call goes up, and when they can again calls go on", async () => {
  const upstream = await startScriptedUpstream(({ response }) => response.end("{}"));
  const house = await openProxyHouse({ upstream: upstream.baseUrl });
  cleanups.push(
    () => upstream.stop(),
    () => house.close(),
  );
  const traces = join(house.dataDir, "traces");
  writeFileSync(traces, "a file where the folder belongs");
  const response = await house.post(HELLO);
  expect([response.status, await response.json()]).toMatchObject([503, { error: { code: "storage" } }]);
  expect(upstream.requests).toHaveLength(0);
  rmSync(traces);
  expect((await house.post(HELLO)).status).toBe(200);
  expect(house.bills()).toHaveLength(1);
});

test("a closing line that cannot be written is kept, and written before the next call goes up", async () => {
  const upstream = await startScriptedUpstream(({ response }, n) => void (n === 2 && response.end("{}")));
  const house = await openProxyHouse({ upstream: upstream.baseUrl });
  cleanups.push(
    () => upstream.stop(),
    () => house.close(),
  );
  const token = house.token();
  const call = house.open(HELLO, token);
  const seen = await upstream.nth(1);
  const folder = join(house.dataDir, "traces", "bills");
  renameSync(folder, `${folder}-away`);
  writeFileSync(folder, "in the way");
  seen.response.end("{}");
  await call.response;
  expect((await house.post(HELLO, { token })).status).toBe(503);
  rmSync(folder);
  renameSync(`${folder}-away`, folder);
  expect(house.bills()).toHaveLength(0);
  expect((await house.post(HELLO, { token })).status).toBe(200);
  expect(house.bills().map((bill) => [bill.seq, bill.outcome])).toEqual([
    [1, "done"],
    [3, "done"],
  ]);
});

test("a bill file that is moved away is begun anew", async () => {
  const upstream = await startScriptedUpstream(({ response }) => response.end("{}"));
  const house = await openProxyHouse({ upstream: upstream.baseUrl });
  cleanups.push(
    () => upstream.stop(),
    () => house.close(),
  );
  const token = house.token();
  await house.post(HELLO, { token });
  const folder = join(house.dataDir, "traces", "bills");
  renameSync(folder, `${folder}-away`);
  await house.post(HELLO, { token });
  expect(house.bills().map((bill) => bill.seq)).toEqual([2]);
});

test("bill files are the user's only", async () => {
  const upstream = await startScriptedUpstream(({ response }) => response.end("{}"));
  const house = await openProxyHouse({ upstream: upstream.baseUrl });
  cleanups.push(
    () => upstream.stop(),
    () => house.close(),
  );
  await house.post(HELLO);
  const folder = join(house.dataDir, "traces", "bills");
  expect(readdirSync(folder)).toEqual([`${new Date().toISOString().slice(0, 10)}.jsonl`]);
  expect((statSync(join(folder, readdirSync(folder)[0] ?? "")).mode & 0o777).toString(8)).toBe("600");
});

test("the bills of a killed proxy are closed once, as estimated from their opening; a live one's are left alone", async () => {
  const upstream = await startScriptedUpstream(({ response }) => {
    startStream(response);
    response.write(textEvent("half"));
  });
  const house = await openProxyHouse({ upstream: upstream.baseUrl });
  cleanups.push(
    () => upstream.stop(),
    () => house.close(),
  );
  const proxy = spawn(
    process.execPath,
    [fileURLToPath(new URL("../fixtures/proxy-process.ts", import.meta.url)), house.dataDir, upstream.baseUrl],
    {
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  cleanups.push(() => proxy.kill("SIGKILL"));
  const [line] = (await once(proxy.stdout, "data")) as [Buffer];
  const { baseUrl, token } = JSON.parse(String(line)) as { baseUrl: string; token: string };
  const killed = fetch(`${baseUrl}/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}` },
    body: JSON.stringify(HELLO_STREAM),
  })
    .then((response) => response.text())
    .catch(() => "broken");
  await upstream.nth(1);
  const live = house.open(HELLO_STREAM, house.token({ runId: "bbbbbbbb", jobId: "bbbbbbbb-01-a1" }));
  await upstream.nth(2);
  expect(await recoverBills(house.dataDir)).toEqual([]);

  proxy.kill("SIGKILL");
  await once(proxy, "exit");
  expect(await killed).toBe("broken");
  expect(await recoverBills(house.dataDir)).toEqual([`${JOB_ID}-c1`]);
  expect(await recoverBills(house.dataDir)).toEqual([]);
  const bytes = Number(house.openings().find((opening) => opening["id"] === `${JOB_ID}-c1`)?.["request_bytes"]);
  const input = Math.ceil(bytes / 4);
  expect(house.bills()).toMatchObject([
    {
      ...{ id: `${JOB_ID}-c1`, outcome: "proxy-killed", usage_source: "estimated", cost_status: "estimated", price_version: "v1" },
      ...{ input, output: 0, cost_usd: (input * 3) / 1e6, http_status: null, finish_reason: null, total_ms: null },
    },
  ]);
  await live.response;
});

test("two recoveries at one moment write the same line, torn and foreign lines hurt nobody", async () => {
  const dataDir = makeFolder();
  const folder = join(dataDir, "traces", "bills");
  mkdirSync(folder, { recursive: true });
  const file = join(folder, "2026-01-02.jsonl");
  writeFileSync(
    file,
    `not json\n{"event_id":"bil_000000000001"}\n${openingLine("dead-c1")}\n\n${openingLine("dead-c2")}\n${openingLine("torn").slice(0, 90)}`,
  );
  await Promise.all([recoverBills(dataDir), recoverBills(dataDir)]);
  const lines = readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line.includes("bill_close"));
  expect(new Set(lines).size).toBe(2);
  expect(await recoverBills(dataDir)).toEqual([]);
});

test("a factory job goes on counting where the journal stands", async () => {
  const upstream = await startScriptedUpstream(({ response }) => response.end(STREAM.join("")));
  const house = await openProxyHouse({ upstream: upstream.baseUrl });
  cleanups.push(
    () => upstream.stop(),
    () => house.close(),
  );
  const folder = join(house.dataDir, "traces", "bills");
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    join(folder, "2026-01-02.jsonl"),
    `${openingLine("a1b2c3d4-f-c9")}\n${openingLine("a1b2c3d4-f-c11")}\n${openingLine("a1b2c3d4-01-a1-c5")}\n`,
  );
  await house.post(HELLO, { token: house.token({ jobId: "a1b2c3d4-f" }) });
  await house.post(HELLO, { token: house.token() });
  expect(readBillLines(house.dataDir, "bill_close").map((bill) => bill["id"])).toEqual(["a1b2c3d4-f-c12", "a1b2c3d4-01-a1-c1"]);
});

/** An opening of a process that is gone: no system gives this pid. */
function openingLine(id: string): string {
  const payload = {
    ...{
      id,
      run_id: "a1b2c3d4",
      phase_id: null,
      label: "",
      attempt: null,
      session_id: null,
      job_id: "job",
      seq: 1,
      turn: null,
      agent: null,
    },
    ...{ provider: "wire", model_asked: "m", dialect: "chat-completions", stream: true, started_at: "2026-01-02T03:04:05.006Z" },
    ...{
      message_count: 1,
      tool_count: 0,
      request_bytes: 400,
      process: { pid: 2 ** 30, started: "1" },
      rehearsal: false,
      price: null,
      price_version: null,
    },
  };
  const eventId = `bil_${Buffer.from(id).toString("hex").padEnd(12, "0").slice(-12)}`;
  return JSON.stringify({
    event_id: eventId,
    ts: "2026-01-02T03:04:05.006Z",
    session_id: null,
    type: "bill_open",
    name: "wire/m",
    payload,
  });
}
