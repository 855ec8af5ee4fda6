// The passes that come with the library as functions.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
  createClient,
  createEngine,
  quantizeInputs,
  quantizeOutputs,
  tensor,
  toNumbers,
  type EdgeProgramManager,
  type Engine,
  type PassFunction,
  type PassProgram,
  type Tensor,
} from "sconce";
import { failure, file } from "../setup/failure.js";

let engine: Engine;
before(async () => (engine = await createEngine()));
after(() => engine.dispose());

const quantized = (): EdgeProgramManager => engine.toEdge(file("quantized_cnn"));

const image = (): Tensor =>
  tensor(
    Array.from({ length: 363 }, (_, i) => Math.sin(i) * 2),
    [1, 3, 11, 11],
  );

const result = (edge: EdgeProgramManager, inputs: Tensor[]): Tensor => {
  const program = engine.load(edge.toExecutorch());
  const [value] = program.run(edge.methods[0]!, inputs);
  program.dispose();
  return value as Tensor;
};

/** The values of the constant methods about an input or output. */
function announced(edge: EdgeProgramManager, place: string): number[] {
  const program = engine.load(edge.toExecutorch());
  const values = ["scale", "zp", "quant_min", "quant_max", "dtype"].map((key) =>
    Number(program.run(`${place}_${key}`)[0]),
  );
  program.dispose();
  return values;
}

const integers = (x: Tensor, [scale, zero, min, max]: number[]): Tensor => {
  const steps = toNumbers(x).map((v) =>
    Math.min(max!, Math.max(min!, Math.round(v / scale!) + zero!)),
  );
  return tensor(steps, [...x.shape], "int8");
};

for (const backend of [undefined, "xnnpack"])
  test(`integers go in and out${backend ? `, with ${backend}` : ""}`, () => {
    const edge = quantized();
    const border = edge.transform(["quantizeInputs", "quantizeOutputs"]);
    const delegated = backend ? border.toBackend(backend) : border;
    const input = announced(border, "input0");
    const [scale, zero] = announced(border, "output0");
    assert.deepEqual(input.slice(1), [1, -128, 127, 1]);
    const floats = toNumbers(result(backend ? edge.toBackend(backend) : edge, [image()]));
    const found = result(delegated, [integers(image(), input)]);
    assert.equal(found.dtype, "int8");
    assert.deepEqual(
      toNumbers(found).map((q) => Math.fround((q - zero!) * Math.fround(scale!))),
      floats,
    );
  });

test("a pass gives a manager constant methods, and leaves the one before without", () => {
  const edge = quantized();
  const next = edge.transform([quantizeInputs([0])]);
  assert.deepEqual(edge.configMethods, []);
  const names = ["scale", "zp", "quant_min", "quant_max", "dtype"].map((key) => `input0_${key}`);
  assert.deepEqual(next.configMethods, names);
  assert.deepEqual(next.toExecutorch().configMethods, names);
  assert.deepEqual(edge.toExecutorch({ passes: ["quantizeInputs"] }).configMethods, names);
  const method = engine.toEdge({ encode: file("quantized_cnn") }).transform(["quantizeOutputs"]);
  assert.equal(method.configMethods[0], "encode_output0_scale");
});

test("integers of another scale are converted to those of the model", () => {
  const wanted = { scale: 1 / 32, zeroPoint: 128, dtype: "uint8" } as const;
  const edge = quantized().transform([quantizeInputs({ 0: wanted })]);
  const bytes = Array.from({ length: 363 }, (_, i) => (i * 7) % 256);
  const floats = bytes.map((byte) => (byte - 128) / 32);
  const shape = [1, 3, 11, 11];
  assert.deepEqual(
    toNumbers(result(edge, [tensor(bytes, shape, "uint8")])),
    toNumbers(result(quantized(), [tensor(floats, shape)])),
  );
  assert.deepEqual(announced(edge, "input0"), [1 / 32, 128, 0, 255, 0]);
  assert.match(
    quantized()
      .transform([quantizeInputs({ 0: null })])
      .exportedProgram()
      .text(),
    /i8/,
  );
});

const refused: [string, string, PassFunction | string, RegExp][] = [
  ["mlp", "without quantization", "quantizeInputs", /no input goes straight into a quantize node/],
  ["mlp", "without quantization", "quantizeOutputs", /no output comes from a dequantize node/],
  [
    "mlp",
    "of an input that takes floats",
    quantizeInputs([0]),
    /input 0, 'x', is used by '.*floats/,
  ],
  [
    "quantized_cnn",
    "of an input too many",
    quantizeInputs([1]),
    /input 1 does not exist: the method has 1 inputs/,
  ],
  [
    "quantized_cnn",
    "of an output too many",
    quantizeOutputs([3]),
    /output 3 does not exist: the method has 1 outputs/,
  ],
];

for (const [model, title, pass, message] of refused)
  test(`integers at the border ${title} are refused: ${String(message)}`, () => {
    const error = failure(() => engine.toEdge(file(model)).transform([pass]));
    assert.equal(error.code, "argument");
    assert.match(error.message, message);
    assert.equal(error.method, "forward");
  });

test("choices of inputs and outputs that make no sense are errors at once", () => {
  const wrong: [() => unknown, RegExp][] = [
    [() => quantizeInputs([-1]), /quantizeInputs\(\) takes must be a list of indices/],
    [() => quantizeOutputs("0" as never), /quantizeOutputs\(\) takes must be a list of indices/],
    [() => quantizeInputs({ a: null } as never), /list of indices/],
    [
      () => quantizeInputs({ 0: { scale: 0, zeroPoint: 0, dtype: "int8" } }),
      /the scale of input 0 of quantizeInputs\(\) must be a number above 0/,
    ],
    [
      () => quantizeInputs({ 0: { scale: 1, zeroPoint: 200, dtype: "int8" } }),
      /the zeroPoint of input 0 of quantizeInputs\(\) must be an integer from -128 to 127/,
    ],
    [
      () => quantizeInputs({ 0: { scale: 1, zeroPoint: 0, dtype: "int4" as never } }),
      /the dtype of input 0 of quantizeInputs\(\) must be int8, uint8, int16, uint16/,
    ],
    [
      () => engine.toEdge(file("mlp")).transform([quantizeInputs as never]),
      /quantizeInputs is not a pass: it makes one/,
    ],
  ];
  for (const [call, message] of wrong) assert.match(failure(call).message, message);
});

test("the passes of the library are in its tables, and work in a worker by name", async () => {
  const { passes } = engine.meta();
  for (const name of ["quantizeInputs", "quantizeOutputs", "cse", "foldDequantizeQuantize"])
    assert.ok(
      passes.some((pass) => pass.name === name && pass.named),
      name,
    );
  const client = await createClient();
  const edge = await client.toEdge(file("quantized_cnn"));
  const next = await edge.transform(["quantizeInputs"]);
  assert.equal((await next.configMethods).length, 5);
  await client.dispose();
});

// --- Changes at the border -------------------------------------------------------------------------

const inputOf = ({ graph }: PassProgram, name: string) =>
  [...graph.nodes].find((node) => node.name === name)!;

test("a new dtype of an input spreads, and what cannot take it is refused after the pass", () => {
  const edge = engine.toEdge(file("add_mul"));
  edge.transform([
    (program) => {
      const input = [...program.graph.nodes].find(({ op }) => op === "placeholder")!;
      const [user] = input.users;
      program.setInputDType(input, "float64");
      assert.equal((input.meta.val as { dtype: string }).dtype, "float64");
      assert.equal((user!.meta.val as { dtype: string }).dtype, "float64");
    },
  ]);
  const refusal = failure(() =>
    quantized()
      .transform([(program) => program.setInputDType(inputOf(program, "x"), "int8")])
      .toExecutorch(),
  );
  assert.match(refusal.message, /quantize_per_tensor needs a floating-point tensor, not int8/);
});

test("operands of control flow keep their dtype, also for a pass that ignores the error", () => {
  const edge = engine.toEdge(file("cond"));
  const error = failure(() =>
    edge.transform([(program) => program.setInputDType(inputOf(program, "x"), "float64")]),
  );
  assert.equal(error.code, "unsupported");
  assert.match(error.message, /an operand of cond .* would have another type/);
  const same = edge.transform([
    (program) => {
      failure(() => program.setInputDType(inputOf(program, "x"), "float64"));
    },
  ]);
  assert.equal(same.exportedProgram().text(), edge.exportedProgram().text());
});

test("only tensors that callers pass have a dtype to set", () => {
  const setDType =
    (name: string, dtype: string): PassFunction =>
    (program) =>
      program.setInputDType(inputOf(program, name), dtype as "int8");
  const transform = (model: string, pass: PassFunction): string =>
    failure(() => engine.toEdge(file(model)).transform([pass])).message;
  assert.match(transform("mlp", setDType("p_fc1_bias", "int8")), /callers of the method pass/);
  assert.match(transform("mlp", setDType("x", "int7")), /must be a dtype/);
  assert.match(transform("input_mutation", setDType("x", "float64")), /writes its input 'x'/);
});

test("a pass adds constant methods, of names that are free and of values without tensors", () => {
  const adding =
    (name: string, value: unknown): PassFunction =>
    ({ addConstantMethod }) =>
      addConstantMethod(name, value as number);
  const edge = engine.toEdge(file("mlp"), { constantMethods: { size: 1 } });
  const next = edge.transform([adding("answer", [42n, { double: 2 }, true, "yes"])]);
  assert.deepEqual(next.configMethods, ["size", "answer"]);
  const program = engine.load(next.toExecutorch());
  assert.deepEqual(program.run("answer"), [42, 2, true, "yes"]);
  for (const name of ["size", "forward", "answer"])
    assert.match(
      failure(() => next.transform([adding(name, 1)])).message,
      new RegExp(`already a method named '${name}'`),
    );
  assert.match(failure(() => edge.transform([adding("t", image())])).message, /without tensors/);
  assert.match(failure(() => edge.transform([adding("", 1)])).message, /name of addConstantMethod/);
});

test("outputs are set as one list, of as many as there are", () => {
  const swapped = engine.toEdge(file("mlp")).transform([
    ({ graph, addOutput }) => {
      const node = graph.find("aten::addmm")[0]!;
      addOutput(node);
      const [list] = graph.output.args as [readonly PassProgram["graph"]["output"][]];
      graph.output.setArg(0, [...list].reverse());
    },
  ]);
  const text = swapped.exportedProgram().text();
  assert.match(text, /return %addmm, /);
  const error = failure(() =>
    engine.toEdge(file("mlp")).transform([({ graph }) => graph.output.setArg(0, [])]),
  );
  assert.match(error.message, /must be a list of 1: addOutput\(\) adds one/);
});

test("results of delegates keep the layout that their backend gives them", () => {
  const delegated = engine.toEdge(file("weight_layouts")).toBackend("xnnpack");
  const text = delegated.exportedProgram().text();
  assert.match(text, /%executorch_call_delegate_1: f32\[1, 4, 3, 3\]\{36, 1, 12, 4\}/);
  const bytes = delegated.toExecutorch().buffer;
  for (const pass of ["strides", "foldDequantizeQuantize", "dce"])
    assert.deepEqual(delegated.transform([pass]).toExecutorch().buffer, bytes, pass);
});

// --- Shorter graphs ----------------------------------------------------------------------------------

const count = (edge: EdgeProgramManager, target: string): number =>
  edge
    .exportedProgram()
    .nodes()
    .filter(({ op }) => op === target).length;

test("cse computes equal calls once, but not random ones", () => {
  const edge = engine.toEdge(file("mlp"));
  const doubled = edge.transform([
    function twice({ graph, addOutput }) {
      const node = graph.find("aten::addmm")[0]!;
      const calls = ["aten::tanh", "aten::tanh", "aten::bernoulli", "aten::bernoulli"].map((op) => {
        const call = graph.insertAfter(node, op, [node]);
        return graph.insertAfter(call, "aten::neg", [call]);
      });
      for (const call of calls) addOutput(call);
    },
  ]);
  const shorter = doubled.transform(["cse"]);
  assert.equal(count(shorter, "aten::tanh"), count(doubled, "aten::tanh") - 1);
  assert.equal(count(shorter, "aten::bernoulli"), 2);
});

test("a dequantization that is quantized again in the same way goes, others stay", () => {
  const edge = quantized();
  const again = (scale: number): EdgeProgramManager =>
    edge.transform([
      function quantizeAgain({ graph }) {
        const node = graph.find("quantized_decomposed::dequantize_per_tensor")[1]!;
        const numbers = node.args.slice(2, 6);
        const step = scale === 1 ? node.args[1]! : { float: scale };
        const behind = [...node.users];
        const once = graph.insertAfter(node, "quantized_decomposed::quantize_per_tensor", [
          node,
          step,
          ...numbers,
        ]);
        const twice = graph.insertAfter(once, node.target, [once, step, ...numbers]);
        for (const user of behind) user.replaceInput(node, twice);
      },
    ]);
  const name = "quantized_decomposed::quantize_per_tensor";
  const before = count(edge, name);
  assert.equal(count(again(1), name), before + 1);
  assert.equal(count(again(1).transform(["foldDequantizeQuantize"]), name), before);
  assert.equal(count(again(0.5).transform(["foldDequantizeQuantize"]), name), before + 1);
});

test("the built-in passes that errors offer are those that the module lets callers name", async () => {
  const url = new URL("../../../../dist/border/passes.gen.js", import.meta.url).href;
  const { BUILT_IN_PASSES } = (await import(url)) as {
    BUILT_IN_PASSES: readonly { name: string; isOffered: boolean }[];
  };
  const passes = engine.meta().passes.map(({ name, named }) => ({ name, isOffered: named }));
  // Those of the library come after those of the module.
  assert.deepEqual(BUILT_IN_PASSES, passes.slice(0, BUILT_IN_PASSES.length));
});
