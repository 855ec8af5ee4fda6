// Memory planners of the user's own: functions that place the values of a method.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
  createClient,
  createEngine,
  type Engine,
  type ExecutorchProgramManager,
  type MemoryPlanning,
  type PlanMemory,
  type PlanRequest,
} from "sconce";
import { failure, file } from "../setup/failure.js";
import { difference, readCases } from "../setup/reference.js";
import { rejected } from "../setup/rejected.js";

let engine: Engine;
before(async () => (engine = await createEngine()));
after(() => engine.dispose());

const EXAMPLES = new URL("examples/planners.mjs", import.meta.resolve("sconce/package.json")).href;
const example = async (): Promise<PlanMemory> =>
  ((await import(EXAMPLES)) as { largestFirst: PlanMemory }).largestFirst;

/** One value behind the other. */
const inLine: PlanMemory = ({ alignment, items }) => {
  let end = 0;
  return items.map(({ bytes }) => {
    const offset = Math.ceil(end / alignment) * alignment;
    end = offset + bytes;
    return offset;
  });
};

/** The bytes of memory that each method plans. */
const planned = ({ executorchProgram }: ExecutorchProgramManager): number[] =>
  executorchProgram.execution_plan!.map((plan) => Number(plan.non_const_buffer_sizes![1]));

const both = (): Record<string, { path: string }> => ({
  encode: file("encdec.encode"),
  decode: file("encdec.decode"),
});

test("a planner gets sizes, lifetimes and alignment, and its plan is in the file", () => {
  const requests: PlanRequest[] = [];
  const edge = engine.toEdge(file("mlp"));
  const lowered = edge.toExecutorch({
    memoryPlanning: (request: PlanRequest) => {
      requests.push(request);
      return inLine(request);
    },
  });
  assert.equal(requests.length, 1);
  const [{ method, alignment, momentCount, items }] = requests as [PlanRequest];
  assert.deepEqual([method, alignment], ["forward", 16]);
  assert.equal(items[0]!.kind, "input");
  assert.ok(items.every(({ first, last }) => 0 <= first && first <= last && last < momentCount));
  const end = items.reduce((sum, { bytes }) => Math.ceil(sum / 16) * 16 + bytes, 0);
  assert.deepEqual(planned(lowered), [end]);
  const program = engine.load(lowered.buffer);
  for (const { inputs, outputs } of readCases("mlp"))
    assert.equal(difference(program.run("forward", inputs)[0], outputs[0]!), "");
});

test("thirty lines plan as well as the official planner", async () => {
  const largestFirst = await example();
  for (const name of ["mlp", "cnn", "lstm"]) {
    const edge = engine.toEdge(file(name));
    const size = (memoryPlanning: MemoryPlanning<"best" | "greedy" | "naive">): number =>
      planned(edge.toExecutorch({ memoryPlanning }))[0]!;
    assert.ok(size(largestFirst) <= size("greedy") * 1.1, name);
    assert.ok(size(largestFirst) < size("naive"), name);
  }
});

test("methods have planners of their own", () => {
  const asked: string[] = [];
  const edge = engine.toEdge(both());
  const lowered = edge.toExecutorch({
    memoryPlanning: {
      decode: (request: PlanRequest) => {
        asked.push(request.method);
        return inLine(request);
      },
      encode: "naive",
    },
  });
  assert.deepEqual(asked, ["decode"]);
  assert.deepEqual(planned(lowered), planned(edge.toExecutorch({ memoryPlanning: "naive" })));
  const error = failure(() => edge.toExecutorch({ memoryPlanning: { other: "naive" } }));
  assert.equal(error.code, "not_found");
  assert.match(error.message, /'other'/);
});

test("plans that cannot be are refused, with the values and the method", () => {
  const edge = engine.toEdge(file("mlp"));
  const before = edge.toExecutorch().buffer;
  const refused = (plan: unknown, code: string, message: RegExp): void => {
    const error = failure(() => edge.toExecutorch({ memoryPlanning: plan as PlanMemory }));
    assert.equal(error.code, code, error.message);
    assert.match(error.message, message);
    assert.equal(error.diagnostics.at(-1)?.method, "forward");
  };
  const each = (offset: unknown) => (request: PlanRequest) => request.items.map(() => offset);
  refused(each(0), "argument", /put '\w+' at 0 to \d+, but '\w+' is at 0 to \d+ at the same time/);
  refused(each(8), "argument", /at 8, which is not a multiple of 16/);
  refused(each(-16), "argument", /offset 0 of a memory planner must be a whole number/);
  refused(each("0"), "argument", /offset 0 of a memory planner must be a whole number/);
  refused(each(2 ** 50), "limit", /memory ends at/);
  refused(() => [], "argument", /too few offsets/);
  refused((r: PlanRequest) => [...inLine(r), 0], "argument", /too many offsets/);
  refused(() => undefined, "argument", /the result of a memory planner must be a list/);
  refused(() => Promise.resolve([]), "argument", /a memory planner returned a promise/);
  refused(
    function mine() {
      throw new RangeError("no room");
    },
    "argument",
    /mine threw on method 'forward': no room/,
  );
  // The manager is as it was.
  assert.deepEqual(edge.toExecutorch().buffer, before);
});

test("planners are called by name once they are registered, and imported by clients", async () => {
  const own = await createEngine();
  own.registerMemoryPlanner(inLine, "inLine");
  const named = own.lower(file("mlp"), { memoryPlanning: "inLine" });
  assert.deepEqual(named.buffer, own.lower(file("mlp"), { memoryPlanning: "naive" }).buffer);
  assert.match(failure(() => own.registerMemoryPlanner(inLine, "greedy")).message, /'greedy'/);
  assert.match(
    failure(() => own.lower(file("mlp"), { memoryPlanning: "outOfLine" })).message,
    /a planner of your own, not 'outOfLine'/,
  );
  const expected = own.lower(file("mlp"), { memoryPlanning: await example() }).buffer;
  own.dispose();

  const client = await createClient();
  assert.deepEqual(await client.importMemoryPlanners({ url: EXAMPLES }), ["largestFirst"]);
  const lowered = await client.lower(file("mlp"), { memoryPlanning: "largestFirst" });
  assert.deepEqual(await lowered.buffer, expected);
  const error = await rejected(() => client.lower(file("mlp"), { memoryPlanning: inLine }));
  assert.match(error.hint, /importMemoryPlanners/);
  await client.dispose();
});
