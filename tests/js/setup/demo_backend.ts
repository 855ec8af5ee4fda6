// A backend in JavaScript, complete though slow: it takes arithmetic on float32, keeps its nodes as
// JSON and its weights as named data, and computes node by node.
import {
  reshape,
  type Backend,
  type BackendNode,
  type NodeArg,
  type Part,
  type Tensor,
  type Value,
} from "sconce";

interface Plan {
  inputs: string[];
  outputs: string[];
  constants: { name: string; key: string; shape: readonly number[] }[];
  nodes: BackendNode[];
}
export interface State {
  plan: Plan;
  weights: Map<string, Tensor>;
}
type Rule = (args: Record<string, Tensor>, node: BackendNode) => Tensor;

const make = (shape: readonly number[], value: (i: number) => number): Tensor => {
  const count = shape.reduce((product, n) => product * n, 1);
  return {
    dtype: "float32",
    shape,
    data: Float32Array.from({ length: count }, (_, i) => value(i)),
  };
};

const map = (t: Tensor, f: (x: number) => number): Tensor =>
  make(t.shape, (i) => f(Number(t.data[i])));

/** Broadcasts; where sizes are 1 or missing the value repeats. */
function zip(a: Tensor, b: Tensor, f: (x: number, y: number) => number): Tensor {
  const rank = Math.max(a.shape.length, b.shape.length);
  const at = (t: Tensor, d: number): number => t.shape[d - (rank - t.shape.length)] ?? 1;
  const shape = Array.from({ length: rank }, (_, d) => (at(a, d) === 1 ? at(b, d) : at(a, d)));
  const offset = (t: Tensor, i: number): number => {
    let [rest, stride, sum] = [i, 1, 0];
    for (let d = rank - 1; d >= 0; d--) {
      if (at(t, d) !== 1) sum += (rest % shape[d]!) * stride;
      stride *= at(t, d);
      rest = Math.floor(rest / shape[d]!);
    }
    return sum;
  };
  return make(shape, (i) => f(Number(a.data[offset(a, i)]), Number(b.data[offset(b, i)])));
}

const product = (a: Tensor, b: Tensor): Tensor => {
  const [rows, inner, columns] = [a.shape[0]!, a.shape[1]!, b.shape[1]!];
  return make([rows, columns], (i) => {
    let sum = 0;
    for (let k = 0; k < inner; k++)
      sum +=
        Number(a.data[Math.floor(i / columns) * inner + k]) *
        Number(b.data[k * columns + (i % columns)]);
    return sum;
  });
};

const transposed = (t: Tensor): Tensor => {
  const [rows, columns] = t.shape as [number, number];
  return make([columns, rows], (i) => Number(t.data[(i % rows) * columns + Math.floor(i / rows)]));
};

/** Two dimensions, without groups and dilation. */
const convolution: Rule = ({ input, weight, bias }, { args }) => {
  const [batch, channels, height, width] = input!.shape as [number, number, number, number];
  const [filters, , rows, columns] = weight!.shape as [number, number, number, number];
  const [stride, padding] = [args["stride"] as number[], args["padding"] as number[]];
  const sizeOf = (size: number, kernel: number, d: number): number =>
    Math.floor((size + 2 * padding[d]! - kernel) / stride[d]!) + 1;
  const [high, wide] = [sizeOf(height, rows, 0), sizeOf(width, columns, 1)];
  return make([batch, filters, high, wide], (i) => {
    const [x, y] = [i % wide, Math.floor(i / wide) % high];
    const f = Math.floor(i / (wide * high)) % filters;
    const n = Math.floor(i / (wide * high * filters));
    let sum = bias ? Number(bias.data[f]) : 0;
    for (let c = 0; c < channels; c++)
      for (let r = 0; r < rows; r++)
        for (let k = 0; k < columns; k++) {
          const [v, u] = [y * stride[0]! + r - padding[0]!, x * stride[1]! + k - padding[1]!];
          if (v < 0 || u < 0 || v >= height || u >= width) continue;
          const at = ((n * channels + c) * height + v) * width + u;
          sum +=
            Number(input!.data[at]) *
            Number(weight!.data[((f * channels + c) * rows + r) * columns + k]);
        }
    return sum;
  });
};

const RULES: Record<string, Rule> = {
  "aten::permute_copy": ({ self }) => transposed(self!),
  "aten::addmm": ({ self, mat1, mat2 }) => zip(self!, product(mat1!, mat2!), (x, y) => x + y),
  "aten::mm": ({ self, mat2 }) => product(self!, mat2!),
  "aten::convolution": convolution,
  "aten::tanh": ({ self }) => map(self!, Math.tanh),
  "aten::sin": ({ self }) => map(self!, Math.sin),
  "aten::linear": ({ input, weight, bias }) => {
    const inner = input!.shape.at(-1)!;
    const flat = reshape(input!, [-1, inner]);
    const made = product(flat, transposed(weight!));
    const shape = [...input!.shape.slice(0, -1), weight!.shape[0]!];
    const whole = reshape(made, shape);
    return bias ? zip(whole, bias, (x, y) => x + y) : whole;
  },
  "aten::add.Tensor": ({ self, other }) => zip(self!, other!, (x, y) => x + y),
  "aten::mul.Tensor": ({ self, other }) => zip(self!, other!, (x, y) => x * y),
};

const isPlain = ({ args, outputs }: BackendNode): boolean =>
  args["groups"] === 1 &&
  args["transposed"] === false &&
  (args["dilation"] as number[]).every((d) => d === 1) &&
  outputs[0]!.shape!.length === 4;

const namesOf = (node: BackendNode): [string, string][] =>
  Object.entries(node.args).flatMap(([parameter, arg]): [string, string][] =>
    isValue(arg) ? [[parameter, arg.value]] : [],
  );
const isValue = (arg: NodeArg): arg is { value: string } =>
  typeof arg === "object" && arg !== null && "value" in arg;

export function plan(part: Part): { plan: Plan; namedData: Record<string, Uint8Array> } {
  const namedData: Record<string, Uint8Array> = {};
  const constants = part.constants.map(({ name, target, shape, bytes }) => {
    namedData[`demo.${target}`] = bytes();
    return { name, key: `demo.${target}`, shape };
  });
  const inputs = part.inputs.map(({ name }) => name);
  const outputs = part.outputs.map(({ name }) => name);
  return { plan: { inputs, outputs, constants, nodes: part.nodes() }, namedData };
}

/** How many parts have been started and not ended. */
export const living = { count: 0 };

const demo: Backend<State> = {
  id: "DemoBackend",
  keeps: (node) => node.op === "aten::linear",
  supports(node) {
    if (!Object.hasOwn(RULES, node.op)) return "only arithmetic";
    if (node.outputs.some(({ dtype }) => dtype !== "float32")) return "only float32";
    if (node.op === "aten::permute_copy" && node.outputs[0]!.shape!.length !== 2)
      return "only matrices";
    if (node.op === "aten::convolution" && !isPlain(node)) return "only plain convolutions";
    return true;
  },
  preprocess(part, compileSpecs) {
    const made = plan(part);
    const text = JSON.stringify(made.plan);
    if (!part.text().includes("return")) throw new Error("a part has a text");
    return {
      processedBytes: new TextEncoder().encode(text),
      namedData: made.namedData,
      debugHandleMap: { all: part.nodes().map(({ debugHandle }) => debugHandle) },
      ...(compileSpecs.length > 0 && { debugHandleMap: {} }),
    };
  },
  init(processedBytes, _, namedData) {
    living.count++;
    const plan = JSON.parse(new TextDecoder().decode(processedBytes)) as Plan;
    const weights = plan.constants.map(({ name, key, shape }): [string, Tensor] => [
      name,
      { dtype: "float32", shape, data: new Float32Array(namedData[key]!.slice().buffer) },
    ]);
    return { plan, weights: new Map(weights) };
  },
  execute({ plan: { inputs, outputs, nodes }, weights }, values): Value[] {
    const known = new Map(weights);
    inputs.forEach((name, i) => known.set(name, values[i] as Tensor));
    for (const node of nodes) {
      const args = namesOf(node).map(([parameter, name]) => [parameter, known.get(name)!]);
      const result = RULES[node.op]!(Object.fromEntries(args) as Record<string, Tensor>, node);
      known.set(node.outputs[0]!.name, result);
    }
    return outputs.map((name) => known.get(name)!);
  },
  destroy() {
    living.count--;
  },
};
export default demo;
