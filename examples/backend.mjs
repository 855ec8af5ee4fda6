// A backend of your own, complete: it takes tanh and abs, and computes them in JavaScript.
//   node examples/backend.mjs [FILE.pt2]
// The command takes the same file: --import examples/backend.mjs --backend Pointwise
import { realpathSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { createEngine, isTensor, tensor, toNumbers } from "sconce";

const FUNCTIONS = new Map([
  ["aten::tanh", Math.tanh],
  ["aten::abs", Math.abs],
]);

/**
 * A part as this backend writes it into the file. Inputs, steps and outputs name their values.
 * @typedef {{ inputs: string[], outputs: string[], steps: { op: string, from: string, to: string }[],
 *   constants: { name: string, shape: readonly number[], numbers: number[] }[] }} Program
 */

/**
 * The value that an argument names.
 * @param {import("sconce").NodeArg | undefined} arg
 */
const nameOf = (arg) =>
  typeof arg === "object" && arg !== null && "value" in arg ? String(arg.value) : "";

/** @type {import("sconce").Backend<Program>} */
const backend = {
  id: "Pointwise",
  supports({ op, outputs }) {
    if (!FUNCTIONS.has(op)) return "it is neither tanh nor abs";
    return outputs[0]?.dtype === "float32" || "its result is not float32";
  },
  preprocess(part) {
    const constants = part.constants.map((constant) => {
      const numbers = [...new Float32Array(constant.bytes().buffer)];
      return { name: constant.name, shape: constant.shape, numbers };
    });
    const steps = part.nodes().map(({ op, args, outputs }) => {
      return { op, from: nameOf(args["self"]), to: outputs[0]?.name ?? "" };
    });
    const [inputs, outputs] = [part.inputs, part.outputs].map((list) => list.map((v) => v.name));
    const program = { inputs, outputs, steps, constants };
    return { processedBytes: new TextEncoder().encode(JSON.stringify(program)) };
  },
  init: (processedBytes) => JSON.parse(new TextDecoder().decode(processedBytes)),
  execute({ inputs, outputs, steps, constants }, given) {
    /** @type {Map<string, import("sconce").Value>} */
    const values = new Map();
    inputs.forEach((name, k) => values.set(name, given[k] ?? null));
    for (const { name, shape, numbers } of constants)
      values.set(name, tensor(new Float32Array(numbers), shape));
    for (const { op, from, to } of steps) {
      const [input, compute] = [values.get(from), FUNCTIONS.get(op)];
      if (!compute || !isTensor(input)) throw new TypeError(`cannot compute ${to}`);
      const numbers = toNumbers(input).map((x) => compute(x));
      values.set(to, tensor(new Float32Array(numbers), input.shape));
    }
    return outputs.map((name) => values.get(name) ?? null);
  },
};
export default backend;

const script = process.argv[1];
if (script && realpathSync(script) === fileURLToPath(import.meta.url)) {
  const path = process.argv[2] ?? fileURLToPath(new URL("./mlp.pt2", import.meta.url));
  const engine = await createEngine();
  engine.registerBackend(backend);
  const lowered = engine.lower({ path }, { partitioner: "Pointwise" });
  for (const { name, backend: by, reason } of lowered.delegation().forward.nodes)
    console.log(`${name}: ${reason || by}`);
  const program = engine.load(lowered);
  const [output] = program.run("forward", [tensor(new Float32Array(4 * 16).fill(1), [4, 16])]);
  const { difference } = lowered.verify().forward.outputs[0];
  if (!isTensor(output)) throw new TypeError("the first output is no tensor");
  console.log(output.data.slice(0, 4), `differs by ${difference} from the kernels`);
}
