// The work of convolutions and products by their shapes: what an event of the inspector multiplied,
// read from the text of XNNPACK's parts or from nodes of the edge program in the record.

/** Multiply-adds for each number of the result, from shapes: of a picture also in groups. */
const DELEGATED = {
  Conv2d: ([, weight], out) => elements(weight) / out.at(-1),
  DepthwiseConv2d: ([, weight], out) => elements(weight) / out.at(-1),
  FullyConnected: ([rows]) => rows.at(-1),
  BatchMatrixMultiply: ([rows]) => rows.at(-1),
};
const PORTABLE = {
  convolution: ([, weight]) => elements(weight) / weight[0],
  linear: ([rows]) => rows.at(-1),
  addmm: ([, rows]) => rows.at(-1),
  mm: ([rows]) => rows.at(-1),
  bmm: ([rows]) => rows.at(-1),
};

const elements = (shape) => shape.reduce((a, b) => a * b, 1);

/** Operations, a multiplication and an addition being two, with the shapes in words. */
function work(op, rule, inputs, output) {
  const shapes = [...inputs.slice(op === "addmm" ? 1 : 0).slice(0, 2), output];
  const [a, b, c] = shapes.map((shape) => shape.join("x"));
  return {
    op,
    operations: 2 * elements(output) * rule(inputs, output),
    shapes: `${a} by ${b}: ${c}`,
  };
}

const TYPE = /(x\d+) (\w+)\[([\d, ]*)\]/;
const dims = (text) => text.split(", ").map(Number);

/**
 * The convolutions and products of one part as `partText` prints it, by number. `bits` is 8 where
 * operands are bytes.
 */
export function workOfPart(text) {
  const values = new Map();
  const found = new Map();
  for (const line of text.split("\n")) {
    const [, value, type, shape] = TYPE.exec(line) ?? [];
    if (!value) continue;
    values.set(value, { type, shape: dims(shape) });
    const [, number, op, operands] = /^(\d+) (\w+) (.*) -> /.exec(line) ?? [];
    if (!DELEGATED[op]) continue;
    const inputs = operands.split(" ").map((name) => values.get(name));
    const shapes = inputs.slice(0, 2).map((input) => input.shape);
    const bits = /^q/.test(inputs[0].type) ? 8 : 32;
    found.set(Number(number), { bits, ...work(op, DELEGATED[op], shapes, dims(shape)) });
  }
  return found;
}

/** Symbolic sizes of the user's inputs by name, from the shapes of a call. */
function symbolsOf(inputs, called) {
  const asked = inputs.filter(({ role }) => role === "user_input");
  return new Map(asked.flatMap(({ shape }, i) => shape.map((size, dim) => [size, called[i][dim]])));
}

/**
 * Gives the work of an instruction outside of parts: of the next node with its handle and operator.
 * `nodes` and `inputs` are those of the record's edge program, `called` the shapes of a call.
 */
export function workOfNodes(nodes, inputs, called) {
  const symbols = symbolsOf(inputs, called);
  const sizeOf = (size) => (typeof size === "number" ? size : symbols.get(size));
  const shapes = new Map();
  for (const { name, shape } of [...inputs, ...nodes.flatMap((node) => node.outputs)])
    shapes.set(name, shape?.map(sizeOf));
  const left = new Set(nodes);
  return (op, handles) => {
    if (!PORTABLE[op]) return undefined;
    const is = (node) => node.op.split(/::|\./)[1] === op && handles.includes(node.debugHandle);
    const node = [...left].find(is);
    if (!node) throw new Error(`the record has no node for ${op} with handles ${handles}`);
    left.delete(node);
    const given = node.inputs.map((name) => shapes.get(name)).filter(Boolean);
    const found = work(op, PORTABLE[op], given, shapes.get(node.outputs[0].name));
    if (!Number.isFinite(found.operations))
      throw new Error(`${node.name} has sizes without a number`);
    return { bits: 32, ...found };
  };
}
