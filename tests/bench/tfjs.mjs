// Runs what dump_graph.py wrote on tfjs-backend-wasm: SIMD, one thread. tfjs reads neither .pt2 nor
// .onnx, so this is the converter it lacks. A step becomes one call, made ready when loading: weights
// permuted, attributes worked out; what tfjs has no call for, such as norms, attention and GELU, is
// written with those it has, as its users write it. Pictures lie as NHWC, which is tfjs's only fast
// layout; everything else as in PyTorch. Values go as soon as nothing reads them any more; states
// stay where they are between calls.

/** The place of each dimension of NCHW in NHWC. */
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

/** A number as a tensor that exists once. */
function scalar(tf, number) {
  const tensor = tf.scalar(number);
  return { shape: [], get: () => tensor };
}

const binary = (name) => (tf, step) => {
  const [a, b] = step.args.map((arg) => (typeof arg === "number" ? scalar(tf, arg) : arg));
  check(!a.nhwc === !b.nhwc || Math.min(a.shape.length, b.shape.length) === 0, "mixed layouts");
  return { nhwc: a.nhwc || b.nhwc, run: () => tf[name](a.get(), b.get()) };
};

const unary = (name) => (tf, step) => {
  const [x] = step.args;
  return { nhwc: x.nhwc, run: () => tf[name](x.get()) };
};

// Inputs that take values in PyTorch's order only.

function linear(tf, { args: [x, weight, bias] }) {
  const b = tf.transpose(weight.get(), [1, 0]); // only this way round it is fast
  const options = bias ? { b, bias: bias.get() } : { b };
  return { run: () => tf.fused.matMul({ a: x.get(), ...options }) };
}

function attention(tf, { args: [q, k, v, mask, dropout = 0, causal = false] }) {
  check(!dropout && !causal, "this attention");
  const scale = tf.scalar(1 / Math.sqrt(q.shape.at(-1)));
  return {
    run() {
      const scores = tf.matMul(tf.mul(q.get(), scale), k.get(), false, true);
      return tf.matMul(tf.softmax(mask ? tf.add(scores, mask.get()) : scores), v.get());
    },
  };
}

function layerNorm(tf, { args: [x, shape, weight, bias, epsilon] }) {
  check(shape.length === 1, "a norm over several dimensions");
  const [scale, shift, little] = [weight.get(), bias.get(), tf.scalar(epsilon)];
  return {
    run() {
      const centred = tf.sub(x.get(), tf.mean(x.get(), -1, true));
      const variance = tf.mean(tf.square(centred), -1, true);
      const normed = tf.mul(centred, tf.rsqrt(tf.add(variance, little)));
      return tf.add(tf.mul(normed, scale), shift);
    },
  };
}

function gelu(tf, { args: [x, approximate] }) {
  check(approximate === undefined, "this GELU");
  const [root, half, one] = [Math.SQRT1_2, 0.5, 1].map((number) => tf.scalar(number));
  return {
    run() {
      const share = tf.add(tf.erf(tf.mul(x.get(), root)), one);
      return tf.mul(tf.mul(x.get(), half), share);
    },
  };
}

/** Rows of `x` written over, one for each place. */
function indexPut(tf, { args: [x, [batch, places], values] }) {
  const [one, count, ...row] = x.shape;
  check(batch === null && one === 1, "this index_put");
  const size = row.reduce((a, b) => a * b, 1);
  const [written] = places.shape;
  return {
    run() {
      const rows = tf.reshape(x.get(), [count, size]);
      const indices = tf.reshape(places.get(), [written, 1]);
      const updates = tf.reshape(values.get(), [written, size]);
      return tf.reshape(tf.tensorScatterUpdate(rows, indices, updates), x.shape);
    },
  };
}

/** By ATen operator: makes a step's call and says in which layout its result lies. */
const OPS = {
  convolution,
  add: binary("add"),
  sub: binary("sub"),
  mul: binary("mul"),
  div: binary("div"),
  exp: unary("exp"),
  relu: unary("relu"),
  rsqrt: unary("rsqrt"),
  sigmoid: unary("sigmoid"),
  native_layer_norm: layerNorm,
  scaled_dot_product_attention: attention,
  linear,
  gelu,
  index_put: indexPut,
  pow(tf, { args: [x, exponent] }) {
    check(exponent === 2, "this power");
    return { nhwc: x.nhwc, run: () => tf.square(x.get()) };
  },
  clamp(tf, { args: [x, low, high = null] }) {
    check(high === null, "a clamp from above");
    const least = tf.scalar(low);
    return { nhwc: x.nhwc, run: () => tf.maximum(x.get(), least) };
  },
  embedding(tf, { args: [table, ids] }) {
    return { run: () => tf.gather(table.get(), ids.get()) };
  },
  index(tf, { args: [table, places] }) {
    check(places.length === 1, "an index in several dimensions");
    return { run: () => tf.gather(table.get(), places[0].get()) };
  },
  expand(tf, { args: [x], shape }) {
    check(!x.nhwc && x.shape.length === shape.length, "this expand");
    // A product takes a hundredth of what tfjs's own tiling takes with five dimensions.
    const ones = tf.ones(shape.map((size, dim) => (size === x.shape[dim] ? 1 : size)));
    return { run: () => tf.mul(x.get(), ones) };
  },
  select(tf, { args: [x, dim, at], shape }) {
    check(!x.nhwc, "a picture's select");
    const axis = placeOf(x, dim);
    const count = (dims) => dims.reduce((a, b) => a * b, 1);
    const [outer, size] = [count(x.shape.slice(0, axis)), x.shape[axis]];
    const inner = count(x.shape.slice(axis + 1));
    const begin = [0, (at + size) % size, 0];
    return {
      run() {
        const flat = tf.reshape(x.get(), [outer, size, inner]); // tfjs is slow with more than four
        return tf.reshape(tf.slice(flat, begin, [outer, 1, inner]), shape);
      },
    };
  },
  linalg_vector_norm(tf, { args: [x, order, dims, keep = false] }) {
    check(order === 2 && !x.nhwc, "this norm");
    return { run: () => tf.sqrt(tf.sum(tf.square(x.get()), dims, keep)) };
  },
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
  permute(tf, { args: [x, dims], shape }) {
    const order = dims.map((dim) => placeOf(x, dim));
    const moved = x.nhwc ? order : order.filter((dim) => x.shape[dim] > 1);
    const same = moved.every((place, i) => i === 0 || place > moved[i - 1]);
    return { run: () => (same ? tf.reshape(x.get(), shape) : tf.transpose(x.get(), order)) };
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
 * The steps of `graph`, with constants from `buffer`, on tfjs: `run` takes inputs as `forTfjs` gives
 * them and returns outputs as PyTorch lays them out; `reset` makes states what they were at first.
 * An error names the operator that tfjs cannot run.
 */
export function tfjsProgram(tf, graph, buffer) {
  const values = new Map();
  const known = new Map();
  const define = (name, shape, nhwc = false) =>
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
  for (const { name, shape } of graph.inputs) define(name, shape, isPicture(shape));
  for (const { name, shape } of graph.states) define(name, shape);
  const kept = graph.states.map((state) => state.next);
  const ends = endings(graph.steps, [...graph.outputs, ...kept]);
  const calls = graph.steps.map((step, i) => {
    check(step.op in OPS, `aten.${step.op}`);
    const { run, nhwc } = OPS[step.op](tf, { ...step, args: operand(step.args) });
    define(step.name, step.shape, nhwc);
    return { op: step.op, name: step.name, run, ends: ends[i] };
  });
  const discard = (name) => {
    values.get(name)?.dispose();
    values.delete(name);
  };

  function call({ op, name, run, ends: over }) {
    try {
      values.set(name, tf.tidy(run));
    } catch (error) {
      throw new Error(`aten.${op}: ${error.message}`, { cause: error });
    }
    over.forEach(discard);
  }

  function reset() {
    for (const { name, shape } of graph.states) {
      discard(name);
      values.set(name, tf.zeros(shape));
    }
  }

  function run(inputs) {
    inputs.forEach(({ data, shape, dtype }, i) =>
      values.set(graph.inputs[i].name, tf.tensor(data, shape, dtype)),
    );
    calls.forEach(call);
    const read = (name) => tf.tidy(() => rowMajor(tf, known.get(name)).dataSync());
    const outputs = graph.outputs.map(read);
    const states = graph.states.map(({ name, next }) => [name, values.get(next)]);
    for (const name of kept) values.delete(name);
    for (const value of values.values()) value.dispose();
    values.clear();
    for (const [name, value] of states) values.set(name, value);
    return outputs;
  }
  reset();
  return { run, reset };
}

const isPicture = (shape) => shape.length === 4;

/** An input as tfjs takes it: a picture as NHWC, integers as int32. */
export function forTfjs({ dtype, data, shape }) {
  if (dtype === "int64") return { dtype: "int32", shape, data: Int32Array.from(data, Number) };
  if (!isPicture(shape)) return { dtype, shape, data };
  const nhwc = TO_NHWC.map((dim) => shape[dim]);
  return { dtype, shape: nhwc, data: toNhwc(data, shape) };
}

/** Numbers of one NCHW picture as NHWC. */
function toNhwc(data, [, channels, height, width]) {
  const plane = height * width;
  return Float32Array.from(data, (_, i) => data[(i % channels) * plane + Math.floor(i / channels)]);
}
