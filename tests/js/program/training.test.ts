// Training: what tests/make/make_training.py recorded of PyTorch, trained here with files of ours and
// of the official exporter, delegated and not; by an engine and by a client.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { tensor, type DType, type Program, type Remote, type Tensor, type Value } from "sconce";
import { withBoth } from "../setup/both.js";
import { testsPath } from "../setup/reference.js";

const { engine, client } = await withBoth();

interface Leaf {
  dtype: DType;
  shape: number[];
  data: number[];
}
interface Golden {
  inputs: Leaf[];
  options: { lr: number; weight_decay?: number };
  losses: number[];
  firstGradients: Record<string, Leaf>;
  parameters: Record<string, Leaf>;
}

const NAMES = ["regression", "classifier", "pictures"];
const pathOf = (file: string): string => testsPath(join("training", file));
const goldenOf = (name: string): Golden =>
  JSON.parse(readFileSync(pathOf(`${name}.json`), "utf8")) as Golden;
const inputsOf = ({ inputs }: Golden): Tensor[] =>
  inputs.map(({ data, shape, dtype }) => tensor(data, shape, dtype));
const optionsOf = ({ options }: Golden): { lr: number } => {
  const { weight_decay: weightDecay, ...rest } = options;
  return { ...rest, ...(weightDecay !== undefined && { weightDecay }) };
};
const numbersOf = (value: Value | undefined): number[] =>
  Array.from((value as Tensor).data, Number);

function checkClose(found: readonly number[], wanted: readonly number[], what: string): void {
  assert.equal(found.length, wanted.length, what);
  found.forEach((value, i) => {
    const near = 2e-6 + 1e-5 * Math.abs(wanted[i]!);
    assert.ok(Math.abs(value - wanted[i]!) <= near, `${what}[${i}]: ${value}, not ${wanted[i]}`);
  });
}

function checkNamed(found: Record<string, Tensor>, wanted: Record<string, Leaf>): void {
  assert.deepEqual(Object.keys(found), Object.keys(wanted));
  for (const [name, { shape, data }] of Object.entries(wanted)) {
    assert.deepEqual(found[name]!.shape, shape);
    checkClose(numbersOf(found[name]), data, name);
  }
}

function train(program: Program, golden: Golden): void {
  const inputs = inputsOf(golden);
  const optimizer = program.sgd(optionsOf(golden));
  const losses = golden.losses.map((_, step) => {
    const [loss] = program.forwardBackward("forward", inputs);
    if (step === 0) checkNamed(program.namedGradients(), golden.firstGradients);
    optimizer.step();
    return numbersOf(loss)[0]!;
  });
  checkClose(losses, golden.losses, "losses");
  checkNamed(program.namedParameters("forward"), golden.parameters);
}

for (const name of NAMES) {
  const sources = {
    own: () => engine.lower(pathOf(`${name}.pt2`)).buffer,
    official: () => readFileSync(pathOf(`${name}.official.pte`)),
    delegated: () => engine.lower(pathOf(`${name}.pt2`), { partitioner: "xnnpack" }).buffer,
    // The backend of the tests, which takes every node it can, and every weight that it may.
    null: () =>
      engine.lower(pathOf(`${name}.pt2`), {
        partitioner: { backend: "null", compileSpecs: [{ key: "state", value: "keep" }] },
      }).buffer,
  };
  for (const [kind, source] of Object.entries(sources))
    test(`${name}, ${kind}: PyTorch's losses, gradients and parameters`, () => {
      const program = engine.load(source());
      const golden = goldenOf(name);
      train(program, golden);
      // From the beginning once more.
      program.reset();
      train(program, golden);
      program.dispose();
    });
}

test("training methods are described as the official exporter does", () => {
  const program = engine.load(
    engine.lower(pathOf("classifier.pt2"), { constantMethods: { n: 1 } }),
  );
  assert.deepEqual(program.methods, [
    "forward",
    "__et_training_gradients_index_forward",
    "__et_training_fqn_forward",
    "__et_training_parameters_index_forward",
    "n",
  ]);
  const answers = program.methods.slice(1).map((name) => program.run(name));
  assert.deepEqual(answers, [[2], ["hidden.weight", "hidden.bias", "out.weight"], [5], [1]]);
  // The loss and the classes; then gradients and parameters.
  const inputs = inputsOf(goldenOf("classifier"));
  assert.equal(program.forwardBackward(inputs).length, 2);
  assert.equal(program.run("forward", inputs).length, 8);
  program.dispose();
});

test("folded constants and weights in a file leave parameters that can be trained", () => {
  const options = { foldConstants: true, externalConstants: true };
  const lowered = engine.lower(pathOf("pictures.pt2"), options);
  const program = engine.load(lowered);
  train(program, goldenOf("pictures"));
  program.dispose();
});

test("a client trains as an engine does", async () => {
  const golden = goldenOf("classifier");
  const program: Remote<Program> = await client.load(pathOf("classifier.official.pte"));
  const optimizer = await program.sgd(optionsOf(golden));
  const losses: number[] = [];
  for (const _ of golden.losses) {
    const [loss] = await program.forwardBackward(inputsOf(golden));
    await optimizer.step();
    losses.push(numbersOf(loss)[0]!);
  }
  checkClose(losses, golden.losses, "losses");
  checkNamed(await program.namedParameters(), golden.parameters);
  await optimizer.dispose();
  await assert.rejects(optimizer.step(), { code: "disposed" });
  await program.dispose();
});

test("methods that share state see what one of them trains", () => {
  const files = { train: pathOf("classifier.pt2"), infer: pathOf("classifier.infer.pt2") };
  const golden = goldenOf("classifier");
  const [x, y] = inputsOf(golden) as [Tensor, Tensor];
  const scoresAfter = (shareMutableBuffers: boolean): [number[], number[]] => {
    const program = engine.load(engine.lower(files, { shareMutableBuffers, foldConstants: true }));
    const before = numbersOf(program.run("infer", [x])[0]);
    const optimizer = program.sgd(optionsOf(golden));
    for (const _ of golden.losses) {
      program.forwardBackward("train", [x, y]);
      optimizer.step();
    }
    const after = numbersOf(program.run("infer", [x])[0]);
    program.dispose();
    return [before, after];
  };
  const [before, after] = scoresAfter(true);
  const largest = Math.max(...before.map((value, i) => Math.abs(value - after[i]!)));
  assert.ok(largest > 0.1, `${largest}`);
  const [alone, still] = scoresAfter(false);
  assert.deepEqual(alone, still);
  checkClose(alone, before, "scores of parameters that are not shared");
  assert.throws(
    () => engine.lower(files, { shareMutableBuffers: true, partitioner: { infer: "xnnpack" } }),
    { code: "argument", message: /a part of method 'infer' holds .* which method 'train' trains/ },
  );
});

test("parameters are kept and put back, all or none", async () => {
  const program = engine.load(engine.lower({ path: pathOf("classifier.pt2") }));
  const golden = goldenOf("classifier");
  train(program, golden);
  const trained = program.namedParameters();
  const later = engine.load(engine.lower({ path: pathOf("classifier.pt2") }));
  const first = later.namedParameters();
  later.setNamedParameters(trained);
  assert.deepEqual(later.namedParameters(), trained);
  assert.deepEqual(
    later.forwardBackward("forward", inputsOf(golden)),
    program.forwardBackward("forward", inputsOf(golden)),
  );
  const [name, value] = Object.entries(first)[0]!;
  later.setNamedParameters({ [name]: value }, "forward");
  assert.deepEqual(later.namedParameters(), { ...trained, [name]: value });
  const wrong: [Record<string, unknown>, RegExp][] = [
    [{ ...first, nope: value }, /trains no parameter 'nope'/],
    [{ ...first, [name]: tensor([1]) }, /must be a tensor of float32 with the shape/],
    [{ ...first, [name]: { ...value, dtype: "int32" } }, /declared int32, must be an Int32Array/],
    [{ ...first, [name]: 1 }, /'.*' of setNamedParameters\(\)/],
    [[] as never, /must be tensors by name/],
  ];
  for (const [given, message] of wrong)
    assert.throws(() => later.setNamedParameters(given as Record<string, Tensor>), message);
  assert.deepEqual(later.namedParameters(), { ...trained, [name]: value });
  const remote = await client.load(await client.lower({ path: pathOf("classifier.pt2") }));
  await remote.setNamedParameters(trained);
  assert.deepEqual(await remote.namedParameters(), trained);
});

test("a method that computes gradients is not quantized", async () => {
  const recipes = ["xnnpack_pt2e_int8_static_per_channel", "sconce_int8_weight_only"];
  for (const recipe of recipes)
    await assert.rejects(engine.export({ path: pathOf("classifier.pt2") }, { recipe }), {
      code: "unsupported",
      message: /computes gradients, and quantized parameters have none/,
    });
});

test("optimizers have a state of their own, and gradients stay until the next ones", () => {
  const golden = goldenOf("regression");
  const program = engine.load(pathOf("regression.official.pte"));
  const [first, second] = [program.sgd({ lr: 0.1, momentum: 0.5 }), program.sgd({ lr: 0.1 })];
  program.forwardBackward(inputsOf(golden));
  const gradients = program.namedGradients();
  const start = numbersOf(program.namedParameters()["linear.weight"]);
  first.step();
  second.step();
  program.run("forward", inputsOf(golden));
  assert.deepEqual(program.namedGradients(), gradients);
  const gradient = numbersOf(gradients["linear.weight"]);
  const wanted = start.map((value, i) => value - 0.2 * gradient[i]!);
  checkClose(numbersOf(program.namedParameters()["linear.weight"]), wanted, "two steps");
  first.dispose();
  first.dispose();
  assert.throws(() => first.step(), { code: "disposed" });
  program.dispose();
  assert.throws(() => second.step(), { code: "disposed" });
  second.dispose();
});

test("what cannot be trained is refused in words", () => {
  const program = engine.load(pathOf("regression.official.pte"));
  const plain = engine.load(engine.lower(testsPath("models/mlp.pt2")));
  const lr = 0.1;
  const refused: [() => unknown, string, RegExp][] = [
    [() => plain.namedParameters(), "not_found", /no method of the program computes gradients/],
    [() => plain.sgd({ lr }), "not_found", /_export_forward_backward|computes gradients/],
    [() => plain.forwardBackward([]), "not_found", /method 'forward' computes no gradients/],
    [() => plain.forwardBackward("nobody", []), "not_found", /nobody/],
    [() => plain.namedParameters("forward"), "not_found", /'forward' computes no gradients/],
    [() => program.namedGradients(), "state", /no gradients yet/],
    [() => program.sgd({ lr }).step(), "state", /no gradients yet/],
    [() => program.forwardBackward("forward", []), "input", /input/],
    [
      () => program.sgd({} as { lr: number }),
      "argument",
      /'lr' of sgd\(\) must be a finite number/,
    ],
    [() => program.sgd({ lr: NaN }), "option", /'lr' of sgd\(\) must be a finite number/],
    [() => program.sgd({ lr, momentum: Infinity }), "option", /'momentum' .* finite/],
    [() => program.sgd({ lr, rate: 1 } as { lr: number }), "option", /rate/],
    [() => program.sgd({ lr, method: "nobody" }), "not_found", /nobody/],
  ];
  for (const [call, code, message] of refused) assert.throws(call, { code, message });
  program.dispose();
  plain.dispose();
});
