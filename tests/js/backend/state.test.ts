// Backends that keep what a method writes: buffers that are state of a part, put back by reset.
import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { createEngine, type Backend, type Engine, type PartState, type Tensor } from "sconce";
import demo, { plan, type State } from "../setup/demo_backend.js";
import { failure, file } from "../setup/failure.js";
import { difference, readCases } from "../setup/reference.js";

let engine: Engine;
beforeEach(async () => (engine = await createEngine()));
afterEach(() => engine.dispose());

interface Kept extends Pick<PartState, "name" | "target" | "shape" | "result"> {
  first: number[];
}
interface Owning extends State {
  kept: Kept[];
}

const firstOf = (kept: readonly Kept[]): [string, Tensor][] =>
  kept.map(({ name, shape, first }) => [
    name,
    { dtype: "float32", shape, data: Float32Array.from(first) },
  ]);

/** The demo backend, which also keeps the buffer "ema". */
const owning: Backend<Owning> = {
  id: "OwningBackend",
  supports: (node, method, specs) => demo.supports(node, method, specs),
  ownsState: (target) => target === "ema",
  preprocess(part) {
    const made = plan(part);
    const kept = part.states.map(({ name, target, shape, result, bytes }): Kept => {
      const first = Array.from(new Float32Array(bytes().slice().buffer));
      return { name, target, shape, result, first };
    });
    const text = JSON.stringify({ plan: made.plan, kept });
    return { processedBytes: new TextEncoder().encode(text), namedData: made.namedData };
  },
  init(bytes, specs, namedData) {
    const { plan, kept } = JSON.parse(new TextDecoder().decode(bytes)) as Owning;
    const state = demo.init(new TextEncoder().encode(JSON.stringify(plan)), specs, namedData);
    return { plan, kept, weights: new Map([...state.weights, ...firstOf(kept)]) };
  },
  execute({ plan, kept, weights }, inputs) {
    const outputs = [...plan.outputs, ...kept.map(({ result }) => result)];
    const values = demo.execute({ plan: { ...plan, outputs }, weights }, inputs);
    const next = values.slice(plan.outputs.length) as Tensor[];
    kept.forEach(({ name }, i) => weights.set(name, next[i]!));
    return values.slice(0, plan.outputs.length);
  },
  reset({ kept, weights }) {
    for (const [name, tensor] of firstOf(kept)) weights.set(name, tensor);
  },
};

test("a part keeps a buffer, and reset puts it back", () => {
  engine.registerBackend(owning);
  const lowered = engine.lower(file("counter_buffer"), { partitioner: owning.id, verify: true });
  const { delegates, outputs } = lowered.verification!["forward"]!;
  assert.ok(outputs.every(({ isClose }) => isClose));
  assert.ok(delegates.every((delegate) => "isClose" in delegate && delegate.isClose));
  assert.match(lowered.exportedProgram().text(), /part lowered_module_\d+ .* buffer "ema"/s);
  const program = engine.load(lowered.buffer);
  for (let round = 0; round < 3; round++) {
    for (const { inputs, outputs: expected } of readCases("counter_buffer")) {
      const found = program.run("forward", inputs);
      expected.forEach((value, i) => assert.equal(difference(found[i], value), ""));
    }
    program.reset();
  }
});

test("two loaded programs do not share what their parts keep", () => {
  engine.registerBackend(owning);
  const pte = engine.lower(file("counter_buffer"), { partitioner: owning.id }).buffer;
  const { inputs } = readCases("counter_buffer")[0]!;
  const [one, other] = [engine.load(pte), engine.load(pte)];
  const first = one.run("forward", inputs);
  assert.notEqual(difference(one.run("forward", inputs)[0], first[0]!), "");
  assert.equal(difference(other.run("forward", inputs)[0], first[0]!), "");
});

test("what nobody owns stays with the program", () => {
  const seen: string[] = [];
  engine.registerBackend({
    ...owning,
    ownsState: (target, method) => {
      seen.push(`${method}/${target}`);
      return false;
    },
    preprocess: (part, specs) => {
      assert.deepEqual(part.states, []);
      return owning.preprocess!(part, specs);
    },
  });
  const lowered = engine.lower(file("counter_buffer"), { partitioner: owning.id });
  assert.deepEqual([...new Set(seen)].sort(), ["forward/ema", "forward/n"]);
  assert.ok(lowered.verify()["forward"]!.outputs.every(({ isClose }) => isClose));
});

test("buffers that a part cannot have, and owners that fail, are typed errors", () => {
  const wrong = (change: Partial<Backend<Owning>>, id = `Owning${Math.random()}`): string => {
    engine.registerBackend({ ...owning, ...change, id });
    return id;
  };
  const lowering = (id: string) => (): unknown =>
    engine.lower(file("counter_buffer"), { partitioner: id });
  const supports: Backend["supports"] = ({ op }) => op === "aten::mul.Tensor" || "only products";
  const torn = failure(lowering(wrong({ supports })));
  assert.equal(torn.code, "argument");
  assert.match(torn.message, /buffer 'ema': it is written outside the part/);
  const thrown = failure(
    lowering(
      wrong({
        ownsState: () => {
          throw new Error("no idea");
        },
      }),
    ),
  );
  assert.equal(thrown.code, "delegate");
  assert.match(thrown.message, /'ownsState' of backend '.*' threw for method 'forward': no idea/);
  const vague = failure(lowering(wrong({ ownsState: () => "yes" as never })));
  assert.equal(vague.code, "delegate");
  assert.match(vague.message, /'ownsState' of .* must return true or false for '\w+' of method/);
  const { reset: _, ...forgetful } = owning;
  const missing = failure(() => engine.registerBackend({ ...forgetful, id: "Forgetful" }));
  assert.equal(missing.code, "argument");
  assert.match(missing.message, /'reset' of backend 'Forgetful' must be a function/);
  const failing = wrong({
    reset: () => {
      throw new Error("cannot forget");
    },
  });
  const program = engine.load(
    engine.lower(file("counter_buffer"), { partitioner: failing }).buffer,
  );
  program.run("forward", readCases("counter_buffer")[0]!.inputs);
  const stuck = failure(() => program.reset());
  assert.equal(stuck.code, "delegate");
  assert.match(stuck.message, /'reset' of backend '.*' threw for method 'forward': cannot forget/);
});

test("methods do not share a buffer that a part keeps", () => {
  engine.registerBackend(owning);
  const programs = { a: file("counter_buffer"), b: file("counter_buffer") };
  const shared = failure(() =>
    engine.lower(programs, { partitioner: { a: owning.id }, shareMutableBuffers: true }),
  );
  assert.equal(shared.code, "argument");
  assert.match(shared.message, /method 'a' keeps the buffer 'ema', so method 'b' cannot share it/);
  assert.ok(engine.lower(programs, { partitioner: { a: owning.id } }).buffer.length > 0);
});
