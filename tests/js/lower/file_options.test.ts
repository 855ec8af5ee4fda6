// Options of the file that is made: where the data of delegates lies, and the planned sizes.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import {
  createEngine,
  tensor,
  type Engine,
  type ExecutorchConfig,
  type ExecutorchProgramManager,
  type Tensor,
  type Value,
} from "sconce";
import { folder, sconce } from "../setup/command.js";
import { failure, file } from "../setup/failure.js";
import { difference, readCases } from "../setup/reference.js";

let engine: Engine;
before(async () => (engine = await createEngine()));
after(() => engine.dispose());

const delegated = (name: string, options: ExecutorchConfig = {}): ExecutorchProgramManager =>
  engine.lower(file(name), { partitioner: "xnnpack", ...options });

/** The place of the data of each delegate: "INLINE" or "SEGMENT". */
const locations = ({ executorchProgram }: ExecutorchProgramManager): unknown[] =>
  executorchProgram.execution_plan![0]!.delegates!.map(
    ({ processed }) => (processed as { location?: string }).location ?? "INLINE",
  );

function checkNumbers(name: string, bytes: Uint8Array): void {
  const program = engine.load(bytes);
  for (const { inputs, outputs } of readCases(name))
    assert.equal(difference(program.run("forward", inputs)[0], outputs[0]!), "");
  program.dispose();
}

test("the data of delegates can lie inside the program", () => {
  const apart = delegated("mlp");
  const inside = delegated("mlp", { extractDelegateSegments: false });
  assert.deepEqual(new Set(locations(apart)), new Set(["SEGMENT"]));
  assert.deepEqual(new Set(locations(inside)), new Set(["INLINE"]));
  const count = (manager: ExecutorchProgramManager): number =>
    manager.executorchProgram.segments!.length;
  assert.ok(count(inside) < count(apart));
  checkNumbers("mlp", inside.buffer);
});

test("the data of delegates is aligned as asked for", () => {
  const aligned = delegated("mlp", { delegateAlignment: 4096 });
  const { buffer, executorchProgram } = aligned;
  const base = Number(new DataView(buffer.buffer, buffer.byteOffset).getBigUint64(24, true));
  const [delegate] = executorchProgram.execution_plan![0]!.delegates!;
  const { index = 0 } = delegate!["processed"] as { index?: number };
  const { offset = 0 } = executorchProgram.segments![index]!;
  assert.equal((base + offset) % 4096, 0);
  checkNumbers("mlp", buffer);
  for (const delegateAlignment of [1, 64, 1024]) {
    const inside = delegated("mlp", { delegateAlignment, extractDelegateSegments: false });
    checkNumbers("mlp", inside.buffer);
  }
  const { code, message } = failure(() => delegated("mlp", { delegateAlignment: 48 }));
  assert.deepEqual([code, /a power of two/.test(message)], ["option", true]);
});

/** The rows of the first input of a call. */
const rowsOf = (inputs: readonly Value[]): number => (inputs[0] as Tensor).shape[0]!;

/** The largest rows of the first input that a program takes. */
function largest(manager: ExecutorchProgramManager, bytes = manager.buffer): number {
  const program = engine.load(bytes);
  const { shape } = program.inspect().methods[0]!.inputs[0]!;
  program.dispose();
  return shape![0]!;
}

const dynamic = (
  symShapeEval: ExecutorchConfig["symShapeEval"],
  name = "mlp_dyn",
): ExecutorchProgramManager =>
  engine.toEdge(file(name)).toExecutorch({ ...(symShapeEval && { symShapeEval }) });

test("memory is planned for the largest sizes, the example, or what the caller says", () => {
  const [constraint, hint] = [dynamic("constraint"), dynamic("hint")];
  const examples = readCases("mlp_dyn").map(({ inputs }) => rowsOf(inputs));
  assert.equal(largest(constraint), largest(dynamic(undefined)));
  assert.ok(largest(hint) < largest(constraint));
  assert.ok(examples.includes(largest(hint)));
  const text = engine.toEdge(file("mlp_dyn")).exportedProgram().text();
  const symbol = /%x: f32\[(\w+),/.exec(text)![1]!;
  const max = largest(hint) + 1;
  const given = dynamic({ [symbol]: { max } });
  assert.equal(largest(given), max);
  assert.equal(largest(dynamic({ forward: "hint" })), largest(hint));
  assert.equal(largest(dynamic({ forward: "hint", "x.0": { max } })), max);
  const program = engine.load(given.buffer);
  for (const { inputs, outputs } of readCases("mlp_dyn"))
    if (rowsOf(inputs) <= max)
      assert.equal(difference(program.run("forward", inputs)[0], outputs[0]!), "");
  const [, features] = program.inspect().methods[0]!.inputs[0]!.shape!;
  const wide = tensor(new Float32Array((max + 1) * features!), [max + 1, features!]);
  assert.equal(failure(() => program.run("forward", [wide])).code, "input");
});

test("sizes that contradict the program are refused, and the manager is as before", () => {
  const edge = engine.toEdge(file("mlp_dyn"));
  const refused = (symShapeEval: object): string => {
    const options = { symShapeEval } as ExecutorchConfig;
    const { code, message } = failure(() => edge.toExecutorch(options));
    return `${code}: ${message}`;
  };
  assert.match(
    refused({ "x.0": { max: 1 } }),
    /^option: .* is below the size of the example input/,
  );
  assert.match(refused({ "x.0": { max: 1e9 } }), /^option: .* is above the largest that the file/);
  assert.match(refused({ s1234: { max: 4 } }), /^not_found: there is no dynamic size 's1234'/);
  assert.match(refused({ decode: "hint" }), /^not_found: there is no method 'decode'/);
  assert.match(refused({ "x.0": 4 }), /^option: .*symShapeEval/);
  assert.match(refused({ "x.0": { min: 4 } }), /^option: .*symShapeEval/);
  assert.equal(largest(edge.toExecutorch()), largest(dynamic("constraint")));
});

test("delegates are planned for the sizes, too", () => {
  for (const symShapeEval of ["constraint", "hint"] as const) {
    const lowered = delegated("mlp_dyn", { symShapeEval });
    const { outputs } = lowered.verify()["forward"]!;
    assert.ok(outputs[0]!.isClose, symShapeEval);
    const most = largest(lowered);
    const program = engine.load(lowered.buffer);
    for (const { inputs, outputs } of readCases("mlp_dyn"))
      if (rowsOf(inputs) <= most)
        assert.equal(difference(program.run("forward", inputs)[0], outputs[0]!), "");
    program.dispose();
  }
});

test("the command has a flag for each", () => {
  const written = (...flags: string[]): Buffer => {
    const { path } = file("mlp_dyn");
    const done = sconce("lower", path, "--backend", "xnnpack", ...flags, "-o", "made.pte");
    assert.equal(done.status, 0, done.stderr);
    return readFileSync(join(folder, "made.pte"));
  };
  const same = (options: ExecutorchConfig, ...flags: string[]): void =>
    assert.deepEqual(written(...flags), Buffer.from(delegated("mlp_dyn", options).buffer));
  same({ extractDelegateSegments: false }, "--inline-delegates");
  same({ delegateAlignment: 512 }, "--delegate-alignment", "512");
  same({ symShapeEval: "hint" }, "--sym-shape-eval", "hint");
  same({ symShapeEval: { forward: "hint" } }, "--sym-shape-eval", "forward=hint");
  const max = largest(dynamic("hint")) + 1;
  const both = { "x.0": { max }, forward: "hint" } as const;
  const flag = "--sym-shape-eval";
  same({ symShapeEval: both }, flag, `x.0=${max}`, flag, "forward=hint");
  const wrong = (...values: string[]): string => {
    const flags = values.flatMap((value) => [flag, value]);
    const done = sconce("lower", file("mlp_dyn").path, ...flags, "-o", "made.pte");
    assert.equal(done.status, 2, done.stdout);
    return done.stderr;
  };
  assert.match(wrong("hints"), /--sym-shape-eval is/);
  assert.match(wrong("hint", "x.0=4"), /is given once as HOW, or as METHOD=HOW and NAME=N/);
  assert.match(wrong("x.0=4", "x.0=hint"), /names one size twice/);
});
