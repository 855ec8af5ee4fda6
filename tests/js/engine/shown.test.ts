// The library's objects and errors as people see them: console.log, and JSON.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { inspect } from "node:util";
import { createClient, createEngine, SconceError, SconcePanic } from "sconce";
import { modelPath } from "../setup/reference.js";

const root = fileURLToPath(new URL("../../../..", import.meta.url));
const mlp = { path: modelPath("mlp.pt2") };

/** The text without the counts of bytes, which other builds have otherwise. */
const shown = (value: unknown): string =>
  inspect(value, { breakLength: Infinity, compact: 10 }).replace(/(\w*[bB]ytes|size): \d+/g, "$1");

test("console.log prints what each object of the engine is", async () => {
  const engine = await createEngine();
  const opened = engine.open(mlp);
  const edge = engine.toEdge(mlp, { constantMethods: { get_n: 3 }, generateEtrecord: true });
  const lowered = edge.toExecutorch();
  const program = engine.load(lowered.buffer);
  const session = engine.createExportSession(mlp, { recipe: "xnnpack_fp32", name: "mlp" });
  const { version } = engine;
  const { binary } = engine.capabilities();
  assert.equal(shown(engine), `Engine { version: '${version}', binary: '${binary}', heapBytes }`);
  assert.equal(shown(opened), "OpenedPrograms { methods: [ 'forward' ], heapBytes }");
  assert.equal(
    shown(edge),
    "EdgeProgramManager { methods: [ 'forward' ], configMethods: [ 'get_n' ], heapBytes }",
  );
  assert.equal(
    shown(lowered),
    "ExecutorchProgramManager { methods: [ 'forward' ], configMethods: [ 'get_n' ], heapBytes, size }",
  );
  assert.equal(
    shown(program),
    "Program { methods: [ 'forward(x: float32[4, 16]) -> (output_0: float32[4, 10])', 'get_n() -> (output_0: int)' ], " +
      "fileBytes, heapBytes }",
  );
  assert.equal(
    shown(session),
    "ExportSession { name: 'mlp', " +
      "stages: [ 'to_edge_transform_and_lower', 'to_executorch' ], done: [] }",
  );
  const json = JSON.parse(JSON.stringify({ program, lowered })) as Record<string, object>;
  assert.deepEqual(Object.keys(json["program"]!), ["methods", "fileBytes", "heapBytes"]);
  assert.deepEqual(Object.keys(json["lowered"]!), [
    "methods",
    "configMethods",
    "heapBytes",
    "size",
  ]);
  assert.equal(shown(edge.exportedProgram()), "ExportedProgram { method: 'forward' }");
  assert.match(
    shown(lowered.etrecord),
    /^ETRecord { methods: \[ 'forward' \], programs: \[ .*'edge_dialect_exported_program\/forward' \] }$/,
  );
  program.run("forward", [{ dtype: "float32", shape: [4, 16], data: new Float32Array(64) }], {
    events: true,
  });
  const { etdump } = program.etdump();
  assert.match(
    shown(engine.inspector({ etdump })),
    /^Inspector { etdump: { version: \d+, runs: \d+, .*etrecord: null, warnings: \[/,
  );
  assert.equal(shown([[[program]]]), "[ [ [ [Program] ] ] ]");
  engine.dispose();
});

test("console.log prints the state of an object that cannot be asked", async () => {
  const engine = await createEngine();
  const lowered = engine.lower(mlp);
  const program = engine.load(lowered.buffer);
  let during = "";
  const opened = engine.open(mlp);
  opened.toEdge({ onProgress: () => (during ||= shown(opened)) });
  assert.equal(during, "OpenedPrograms { state: 'busy' }");
  program.dispose();
  assert.equal(shown(program), "Program { state: 'disposed' }");
  engine.dispose();
  assert.equal(shown(lowered), "ExecutorchProgramManager { state: 'disposed' }");
  assert.equal(shown(engine), "Engine { state: 'disposed' }");
});

test("console.log prints the data of an object in a worker, and not its methods", async () => {
  const client = await createClient();
  const program = await client.load(await (await client.lower(mlp)).buffer);
  assert.equal(shown(client), `Client { version: '${client.version}' }`);
  assert.equal(shown(program), "Remote Program { methods: [ 'forward' ] }");
  await program.dispose();
  assert.equal(shown(program), "Remote Program { state: 'disposed' }");
  client.terminate();
  assert.equal(shown(client), "Client { state: 'disposed' }");
});

for (const host of ["deno", "bun"]) {
  test(`console.log prints the same in ${host}`, () => {
    const tool = execFileSync("bash", [join(root, "tools/runtime.sh"), host], { encoding: "utf8" });
    const script = `
      import { createEngine } from ${JSON.stringify(join(root, "dist/index.js"))};
      const engine = await createEngine();
      console.log(engine.load(engine.lower(${JSON.stringify(mlp)}).buffer));`;
    const args = host === "deno" ? ["eval"] : ["-e"];
    const text = execFileSync(tool.trim().split("\n").at(-1)!, [...args, script], {
      encoding: "utf8",
      env: { ...process.env, NO_COLOR: "1" },
    });
    assert.match(
      text,
      /^Program \{\s+methods: \[\s*["']forward\(x: float32\[4, 16\]\) -> \(output_0: float32\[4, 10\]\)["']/,
    );
    assert.doesNotMatch(text, /core|job/);
  });
}

test("JSON of an error has its message, and the message of its cause", async () => {
  const engine = await createEngine();
  let found: unknown;
  assert.throws(
    () => engine.lower({ path: "nowhere.pt2" }),
    (thrown) => Boolean((found = thrown)),
  );
  const error = found as SconceError;
  const reported = (await Response.json({ error }).json()) as { error: Record<string, unknown> };
  assert.equal(reported.error["message"], error.message);
  assert.match(error.message, /nowhere\.pt2/);
  const { name, code, hint, method, node, op, source } = error;
  const { message, cause, diagnostics, ...rest } = reported.error;
  assert.deepEqual(rest, { name, code, hint, method, node, op, source });
  assert.deepEqual(diagnostics, JSON.parse(JSON.stringify(error.diagnostics)));
  assert.equal(cause, error.cause === undefined ? undefined : (error.cause as Error).message);
  engine.dispose();
});

test("JSON of an error tells a cause of any kind", () => {
  const failed = new SconceError("io", "it failed", "Try again.");
  assert.ok(!("cause" in failed.toJSON()));
  failed.cause = new TypeError("why");
  assert.equal(failed.toJSON().cause, "why");
  failed.cause = 7n;
  assert.equal(JSON.parse(JSON.stringify(failed)).cause, "7");
  const panic = new SconcePanic("it broke").toJSON();
  assert.deepEqual([panic.name, panic.code], ["SconcePanic", "panic"]);
});
