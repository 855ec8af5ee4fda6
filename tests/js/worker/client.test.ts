// The client: the engine's interface from a worker, with progress, cancelling and typed errors.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { Worker } from "node:worker_threads";
import { createClient, createEngine, SconceError, SconcePanic, type Client } from "sconce";
import { difference, modelPath, readCases, samplePath } from "../setup/reference.js";

let client: Client;
before(async () => (client = await createClient()));
after(() => client.terminate());

test("lowers, loads and runs as the engine does", async () => {
  const lowered = await client.lower({ path: modelPath("mlp.pt2") });
  const bytes = await lowered.buffer;
  const engine = await createEngine();
  assert.deepEqual(bytes, engine.lower({ path: modelPath("mlp.pt2") }).buffer);
  engine.dispose();
  const program = await client.load(bytes);
  const { inputs, outputs } = readCases("mlp")[0]!;
  const results = await program.run("forward", inputs);
  assert.equal(difference(results[0], outputs[0]!), "");
  assert.deepEqual([...program.methods], ["forward"]);
  await program.dispose();
  await assert.rejects(program.run("forward", inputs), { code: "disposed" });
  await lowered.dispose();
});

test("stages of an edge manager can be looked at", async () => {
  const edge = await client.toEdge(
    { path: modelPath("mlp.pt2") },
    { compileConfig: { snapshots: true } },
  );
  const report = await edge.inspect();
  assert.deepEqual(
    report.stages.map((s) => s.stage),
    ["source", "core", "edge"],
  );
  assert.match(await edge.text(report.stages[0]!.program), /aten::linear/);
  assert.match(await edge.text(report.stages[2]!.program), /aten::permute_copy/);
  const nodes = await edge.nodes(report.stages[2]!.program, "forward");
  assert.ok(nodes.some((n) => n.op === "aten::addmm" && n.source !== ""));
  assert.ok(nodes.every(({ debugHandle }) => debugHandle > 0));
  const forward = await edge.exportedProgram();
  assert.match(await forward.text(), /aten::addmm/);
  const program = await edge.toExecutorch({ memoryPlanning: "naive" });
  const plan = (await program.inspect()).plans[0]!;
  assert.equal(plan.plannedBytes, plan.naiveBytes);
  await Promise.all([edge.dispose(), program.dispose()]);
});

test("progress is told and a call can be cancelled", async () => {
  const phases = new Set<string>();
  const source = { path: samplePath("face-rfb320.pt2") };
  const lowered = await client.lower(source, { onProgress: ({ phase }) => phases.add(phase) });
  assert.ok(phases.size > 0);
  await lowered.dispose();
  const controller = new AbortController();
  const call = client.lower(source, { signal: controller.signal });
  controller.abort();
  await assert.rejects(call, { name: "AbortError", code: "cancelled" });
  await assert.rejects(client.lower(source, { signal: AbortSignal.abort() }), {
    code: "cancelled",
  });
  // The worker goes on serving.
  assert.equal(await client.detect({ path: modelPath("mlp.pt2") }), "pt2");
});

test("a worker's objects have what their interface says, less what is local", async () => {
  const edge = await client.toEdge({ path: modelPath("mlp.pt2") });
  const lowered = await edge.toExecutorch();
  assert.deepEqual(Object.keys(await edge.exportedProgram()).sort(), [
    "call",
    "constant",
    "dispose",
    "method",
    "nodes",
    "stateDict",
    "text",
  ]);
  const { signature, constants } = await edge.exportedProgram();
  assert.equal((await signature).outputs.length, 1);
  assert.ok((await constants).some(({ name }) => name.endsWith("weight")));
  for (const name of ["emit", "decompose", "session"]) assert.equal(name in edge, false, name);
  for (const name of ["writeSync", "whole"]) assert.equal(name in lowered, false, name);
  assert.equal("inflate" in client, false);
  await Promise.all([edge.dispose(), lowered.dispose()]);
});

test("errors keep their code, place and hint across the worker", async () => {
  const bytes = readFileSync(modelPath("mlp.pt2")).subarray(0, 1000);
  const error = await client.lower(new Uint8Array(bytes)).catch((e: unknown) => e);
  assert.ok(error instanceof SconceError && !(error instanceof SconcePanic));
  assert.notEqual(error.hint, "");
  const program = await client.load(
    await (
      await client.lower({ path: modelPath("mlp.pt2") })
    ).buffer,
  );
  await assert.rejects(program.run("forward", [null]), { code: "input" });
  await assert.rejects(program.run("nope", []), { code: "not_found" });
  // The program goes on serving the methods it has.
  const { inputs, outputs } = readCases("mlp")[0]!;
  assert.equal(difference((await program.run("forward", inputs))[0], outputs[0]!), "");
  await program.dispose();
});

test("a program is written to sinks of the caller", async () => {
  const lowered = await client.lower({ path: modelPath("mlp.pt2") });
  const bytes = await lowered.buffer;
  const parts: Uint8Array[] = [];
  await lowered.writeTo((chunk) => void parts.push(chunk));
  assert.deepEqual(new Uint8Array(Buffer.concat(parts)), bytes);
  let size = 0;
  const stream = new WritableStream<Uint8Array>({ write: (chunk) => void (size += chunk.length) });
  await lowered.writeTo(stream);
  assert.equal(size, bytes.length);
  await lowered.dispose();
});

test("what a progress listener throws fails its call and nothing else", async () => {
  const onProgress = (): void => {
    throw new Error("mine");
  };
  const source = { path: samplePath("face-rfb320.pt2") };
  await assert.rejects(client.lower(source, { onProgress }), /mine/);
  assert.equal(await client.detect(source), "pt2");
});

test("a worker that is ended rejects what is under way", async () => {
  const other = await createClient();
  const call = other.lower({ path: samplePath("face-rfb320.pt2") });
  other.terminate();
  await assert.rejects(call, SconcePanic);
  await assert.rejects(other.meta(), SconcePanic);
});

test("a worker of node:worker_threads serves as well", async () => {
  const script = new URL("worker.js", import.meta.resolve("sconce"));
  const other = await createClient({ worker: () => new Worker(script) });
  assert.equal(await other.detect({ path: modelPath("mlp.pt2") }), "pt2");
  await other.dispose();
});

test("a worker that does not become an engine is an io error", async (t) => {
  const scripts: [string, RegExp][] = [
    [
      "setInterval(() => 0, 1e6); require('node:worker_threads').parentPort.postMessage(1)",
      /not S/,
    ],
    [
      "const { parentPort: p } = require('node:worker_threads'); p.on('message', (m) => p.postMessage(m))",
      /not S/,
    ],
    ["throw new Error('mine')", /mine/],
    ["process.exit(3)", /ended with the code 3/],
    ["0", /ended with the code 0/],
  ];
  for (const [script, message] of scripts) {
    const made = createClient({ worker: () => new Worker(script, { eval: true }) });
    await assert.rejects(made, { name: "SconceError", code: "io", message });
  }
  const missing = (): Worker => new Worker(new URL("file:///no/such/worker.js"));
  await assert.rejects(createClient({ worker: missing }), {
    code: "io",
    message: /no.such.worker/,
  });
  let ends = 0;
  const silent = { postMessage: () => undefined, terminate: () => void ends++ };
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const made = createClient({ worker: () => silent as never });
  await new Promise((resolve) => setImmediate(resolve));
  t.mock.timers.tick(30_000);
  await assert.rejects(made, { code: "io", message: /does not answer/ });
  assert.equal(ends, 1);
});

test("a page's worker whose script is missing is told with its address", async () => {
  const host = globalThis as { Worker?: unknown };
  // As browsers do it: the event has no message.
  host.Worker = class {
    onerror: ((event: { message?: string }) => void) | undefined;
    constructor() {
      setImmediate(() => this.onerror?.({}));
    }
    postMessage(): void {}
    terminate(): void {}
  };
  try {
    await assert.rejects(createClient(), {
      code: "io",
      message: /worker\.js did not start: .* loaded/,
    });
  } finally {
    delete host.Worker;
  }
});

test("relative URLs are those of the page", async () => {
  const host = globalThis as { location?: { href: string } };
  host.location = { href: "http://localhost/models/index.html" };
  try {
    const message = /^http:\/\/localhost\/models\/a\.pt2 cannot be loaded/;
    const source = { url: "a.pt2" };
    for (const call of [
      () => client.detect(source),
      () => client.lower({ forward: source }),
      () => client.load(new Uint8Array(8), { dataFiles: [source] }),
    ])
      await assert.rejects(call, { code: "io", message });
  } finally {
    delete host.location;
  }
});
