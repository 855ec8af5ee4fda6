// The server of the examples: parallel requests, health, and callers that hang up.
import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import type { ErrorJson, PoolStats } from "sconce";
import { modelPath } from "../setup/reference.js";

const example = fileURLToPath(new URL("../../../../examples/server.mjs", import.meta.url));
const mlp = readFileSync(modelPath("mlp.pt2"));
let server: ChildProcess;
let url = "";
before(async () => {
  server = spawn(process.execPath, [example, "0"], { stdio: ["ignore", "pipe", "inherit"] });
  url = await new Promise((resolve) =>
    server.stdout!.once("data", (text: Buffer) => resolve(text.toString().trim())),
  );
});
after(() => server.kill());

const post = (body: Uint8Array, signal?: AbortSignal): Promise<Response> =>
  fetch(url, { method: "POST", body: body as BodyInit, ...(signal && { signal }) });
const health = async (): Promise<PoolStats> =>
  (await (await fetch(`${url}health`)).json()) as PoolStats;

test("parallel requests are answered, and health meanwhile", async () => {
  const answers = Array.from({ length: 20 }, () => post(mlp));
  assert.ok((await health()).size >= 1);
  for (const response of await Promise.all(answers)) {
    assert.equal(response.status, 200);
    const { size, shapes } = (await response.json()) as { size: number; shapes: number[][] };
    assert.ok(size > 1000);
    assert.deepEqual(shapes, [[4, 10]]);
  }
});

test("a wrong request is told its error", async () => {
  const broken = await post(mlp.subarray(0, 1000));
  assert.equal(broken.status, 400);
  const { error } = (await broken.json()) as { error: ErrorJson };
  const { code, hint } = error;
  assert.equal(code, "truncated");
  assert.notEqual(hint, "");
  assert.equal((await post(new Uint8Array(65 << 20))).status, 413);
  assert.equal((await fetch(url)).status, 405);
});

test("a caller that hangs up frees its worker", async () => {
  const controller = new AbortController();
  const calls = Array.from({ length: 8 }, () => post(mlp, controller.signal));
  controller.abort();
  for (const call of calls) await assert.rejects(call, { name: "AbortError" });
  for (let stats = await health(); stats.active + stats.waiting > 0;) stats = await health();
  assert.equal((await post(mlp)).status, 200);
});
