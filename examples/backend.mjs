// A backend of one's own, complete: it takes tanh and computes it in JavaScript.
//   node examples/backend.mjs [FILE.pt2]
// As a module it is also one for the command: --import examples/backend.mjs --backend Tanh
import { realpathSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { createEngine, isTensor, tensor } from "sconce";

/** @type {import("sconce").Backend<{ times: number }>} */
const backend = {
  id: "Tanh",
  supports: (node) => node.op === "aten::tanh" || "only tanh",
  // One byte for each node of the part: the interpreter below needs no more.
  preprocess: (part) => ({ processedBytes: new Uint8Array(part.nodes().length) }),
  init: (processedBytes) => ({ times: processedBytes.length }),
  execute: ({ times }, [input]) => {
    if (!isTensor(input) || input.dtype !== "float32") throw new TypeError("only float32");
    let { data } = input;
    for (let i = 0; i < times; i++) data = data.map(Math.tanh);
    return [{ ...input, data }];
  },
};
export default backend;

const script = process.argv[1];
if (script && realpathSync(script) === fileURLToPath(import.meta.url)) {
  const path = process.argv[2] ?? fileURLToPath(new URL("./mlp.pt2", import.meta.url));
  const engine = await createEngine();
  engine.registerBackend(backend);
  const lowered = engine.lower({ path }, { partitioner: "Tanh" });
  for (const { name, backend: by, reason } of lowered.delegation().forward.nodes)
    console.log(`${name}: ${reason || by}`);
  const program = engine.load(lowered);
  const [output] = program.run("forward", [tensor(new Float32Array(4 * 16).fill(1), [4, 16])]);
  const { difference } = lowered.verify().forward.outputs[0];
  if (!isTensor(output)) throw new TypeError("the first output is no tensor");
  console.log(output.data.slice(0, 4), `differs by ${difference} from the kernels`);
}
