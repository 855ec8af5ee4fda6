// The smallest script: lower a .pt2, run the .pte.
//   node examples/mlp.mjs [FILE.pt2]       also with deno run -A and bun
import { fileURLToPath } from "node:url";
import { createEngine, isTensor, tensor } from "sconce";

const path = process.argv[2] ?? fileURLToPath(new URL("./mlp.pt2", import.meta.url));
const engine = await createEngine();
const lowered = engine.lower({ path });
const program = engine.load(lowered);
const [output] = program.run("forward", [tensor(new Float32Array(4 * 16).fill(1), [4, 16])]);
if (!isTensor(output)) throw new TypeError("the first output is no tensor");
console.log(`${lowered.size} bytes of .pte; output`, output.shape, output.data.slice(0, 4));
