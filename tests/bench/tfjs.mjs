// Runs what dump_graph.py wrote on tfjs-backend-wasm: SIMD, one thread. tfjs reads neither .pt2 nor
// .onnx, so this is the converter it lacks. A step becomes one call, made ready when loading: weights
// permuted, attributes worked out. Four-dimensional values lie as NHWC, which is tfjs's only fast
// layout; everything else as in PyTorch. Values go as soon as nothing reads them any more.

/** Where each dimension of NCHW lies in NHWC. */
const PLACE = [0, 3, 1, 2];
const TO_NHWC = [0, 2, 3, 1];

const placeOf = (x, dim) => {
  const positive = dim < 0 ? dim + x.shape.length : dim;
  return x.nhwc ? PLACE[positive] : positive;
};

const check = (condition, what) => {
  if (!condition) throw new Error(`tfjs has no call for ${what}`);
};

const rowMajor = (tf, x) => (x.nhwc ? tf.transpose(x.get(), PLACE) : x.get());

function convolution(tf, step) {
  const [x, weight, bias, strides, padding, dilations, transposed, , groups] = step.args;
  check(!transposed && x.nhwc, "this convolution");
  const [outputs, perGroup, ...kernel] = weight.shape;
  const depthwise = groups > 1;
  check(!depthwise || perGroup === 1, "a convolution in groups of several channels");
  const pad = [[0, 0], ...padding.map((p) => [p, p]), [0, 0]];
  const options = { strides, pad, dilations, activation: step.activation ?? "linear" };
  options.filter = depthwise
    ? tf.reshape(tf.transpose(weight.get(), [2, 3, 0, 1]), [...kernel, groups, outputs / groups])
    : tf.transpose(weight.get(), [2, 3, 1, 0]);
  if (bias) options.bias = bias.get();
  const call = depthwise ? tf.fused.depthwiseConv2d : tf.fused.conv2d;
  return { nhwc: true, run: () => call({ x: x.get(), ...options }) };
}

const binary = (name) => (tf, step) => {
  const [a, b] = step.args;
  check(!a.nhwc === !b.nhwc || Math.min(a.shape.length, b.shape.length) === 0, "mixed layouts");
  return { nhwc: a.nhwc || b.nhwc, run: () => tf[name](a.get(), b.get()) };
};

const unary = (name) => (tf, step) => {
  const [x] = step.args;
  return { nhwc: x.nhwc, run: () => tf[name](x.get()) };
};

/** By ATen operator: makes a step's call and says in which layout its result lies. */
const OPS = {
  convolution,
  add: binary("add"),
  sub: binary("sub"),
  mul: binary("mul"),
  div: binary("div"),
  exp: unary("exp"),
  relu: unary("relu"),
  hardtanh(tf, { args: [x, low, high] }) {
    return { nhwc: x.nhwc, run: () => tf.clipByValue(x.get(), low, high) };
  },
  cat(tf, { args: [parts, dim = 0] }) {
    const nhwc = parts[0].nhwc;
    check(
      parts.every((part) => part.nhwc === nhwc),
      "mixed layouts",
    );
    const axis = placeOf(parts[0], dim);
    const read = (part) => part.get();
    return { nhwc, run: () => tf.concat(parts.map(read), axis) };
  },
  permute(tf, { args: [x, dims] }) {
    const order = dims.map((dim) => placeOf(x, dim));
    const same = order.every((place, i) => place === i);
    return { run: () => (same ? x.get().clone() : tf.transpose(x.get(), order)) };
  },
  view(tf, { args: [x], shape }) {
    const order = x.nhwc && x.shape[2] * x.shape[3] > 1 ? rowMajor : (_, value) => value.get();
    return { run: () => tf.reshape(order(tf, x), shape) };
  },
  slice(tf, { args: [x, dim = 0, start = 0], shape }) {
    const place = x.nhwc ? TO_NHWC : [...shape.keys()];
    const begin = shape.map(() => 0);
    const size = x.shape[dim];
    begin[placeOf(x, dim)] = start < 0 ? start + size : start;
    const sizes = place.map((d) => shape[d]);
    return { nhwc: x.nhwc, run: () => tf.slice(x.get(), begin, sizes) };
  },
  mean(tf, { args: [x, dims, keep = false] }) {
    check(!x.nhwc || keep, "a mean that drops dimensions of a picture");
    const axes = dims.map((dim) => placeOf(x, dim));
    return { nhwc: x.nhwc, run: () => tf.mean(x.get(), axes, keep) };
  },
  _softmax(tf, { args: [x, dim], shape }) {
    check(!x.nhwc && placeOf(x, dim) === shape.length - 1, "softmax of an inner dimension");
    return { run: () => tf.softmax(x.get()) };
  },
  addmm(tf, { args: [bias, a, b] }) {
    const fixed = { bias: bias.get(), b: b.get() };
    return { run: () => tf.fused.matMul({ a: a.get(), ...fixed }) };
  },
};

/** For each step, the names of the values that nothing reads after it. */
function endings(steps, outputs) {
  const last = new Map();
  const visit = (arg, i) => {
    if (Array.isArray(arg)) for (const item of arg) visit(item, i);
    else if (arg?.step) last.set(arg.step, i);
  };
  steps.forEach((step, i) => visit(step.args, i));
  const ends = steps.map(() => []);
  for (const [name, i] of last) if (!outputs.includes(name)) ends[i].push(name);
  return ends;
}

/**
 * The steps of `graph`, with constants from `buffer`, on tfjs: a program of one input that `run` gives NHWC numbers, and which returns outputs as PyTorch lays
 * them out. An error names the operator that tfjs cannot run.
 */
export function tfjsProgram(tf, graph, buffer) {
  const [input] = graph.inputs;
  const values = new Map();
  const known = new Map();
  const define = (name, shape, nhwc) =>
    known.set(name, { shape, nhwc, get: () => values.get(name) });
  const constant = ({ shape, offset }) => {
    const size = shape.reduce((a, b) => a * b, 1);
    const tensor = tf.tensor(new Float32Array(buffer, offset, size), shape);
    return { shape, nhwc: false, get: () => tensor };
  };
  const operand = (arg) => {
    if (Array.isArray(arg)) return arg.map(operand);
    if (arg === null || typeof arg !== "object") return arg;
    return arg.step ? known.get(arg.step) : constant(arg);
  };
  define(input.name, input.shape, true);
  const ends = endings(graph.steps, graph.outputs);
  const calls = graph.steps.map((step, i) => {
    check(step.op in OPS, `aten.${step.op}`);
    const { run, nhwc = false } = OPS[step.op](tf, { ...step, args: operand(step.args) });
    define(step.name, step.shape, nhwc);
    return { op: step.op, name: step.name, run, ends: ends[i] };
  });
  const shape = TO_NHWC.map((dim) => input.shape[dim]);

  function run(data) {
    values.set(input.name, tf.tensor(data, shape));
    for (const call of calls) {
      try {
        values.set(call.name, tf.tidy(call.run));
      } catch (error) {
        throw new Error(`aten.${call.op}: ${error.message}`, { cause: error });
      }
      for (const name of call.ends) {
        values.get(name).dispose();
        values.delete(name);
      }
    }
    const read = (name) => tf.tidy(() => rowMajor(tf, known.get(name)).dataSync());
    const outputs = graph.outputs.map(read);
    for (const value of values.values()) value.dispose();
    values.clear();
    return outputs;
  }
  return { run };
}

/** Numbers of one NCHW picture as NHWC. */
export function toNhwc(data, [, channels, height, width]) {
  const plane = height * width;
  return Float32Array.from(data, (_, i) => data[(i % channels) * plane + Math.floor(i / channels)]);
}
