// The programs that are built. Each lowers and runs a small model, by a client or by an engine, and
// prints the result. They import only the package, by its name.
import { readFileSync } from "node:fs";

/** The model, as the source of an array: the program must need no file of its own. */
function modelBytes(root: string): string {
  const text = readFileSync(`${root}/tests/models/mlp.pt2`).toString("base64");
  return `Uint8Array.from(atob(${JSON.stringify(text)}), (c) => c.charCodeAt(0))`;
}

/** Rows of a softmax each sum to 1, so that four of them sum to 4. */
const WORK = `
    const lowered = await sconce.lower(bytes);
    const program = await sconce.load(lowered);
    const [output] = await program.run("forward", [tensor(new Float32Array(64).fill(1), [4, 16])]);
    const sum = output.data.reduce((total, x) => total + x, 0);
    return \`ok \${name} \${output.shape} \${sum.toFixed(3)}\`;`;

/** The answer of a program that works. */
export const answerOf = (name: "client" | "engine"): string => `ok ${name} 4,10 4.000`;

interface Parts {
  /** Replaces the import of the package. */
  imports?: string;
  /** The arguments of createClient() or createEngine(). */
  options?: string;
}

/** A module whose function `work` gives the answer, or says what failed. */
export function workModule(
  root: string,
  name: "client" | "engine",
  { imports, options = "" }: Parts = {},
): string {
  const create = name === "client" ? "createClient" : "createEngine";
  return `${imports ?? `import { ${create}, tensor } from "sconce";`}
const bytes = ${modelBytes(root)};
const name = "${name}";
export async function work() {
  try {
    const sconce = await ${create}(${options});${WORK}
  } catch (error) {
    return "failed: " + error.code + ": " + error.message + " " + error.hint + " " + error.stack;
  }
}
`;
}

const RUN = `
    const program = await sconce.load(bytes);
    const { methods } = await program.inspect();
    const ones = ({ shape }) => tensor(new Float32Array(shape.reduce((n, d) => n * d, 1)).fill(1), shape);
    const [output] = await program.run("forward", methods[0].inputs.map(ones));
    return \`ok \${name} \${output.shape} \${[...output.data].every(Number.isFinite)}\`;`;

/** The answer of a program that only runs, and works. */
export const runAnswerOf = (name: "client" | "engine"): string => `ok ${name} 4,8 true`;

/** The same by a runtime or its client, which runs a lowered program. */
export function runModule(root: string, name: "client" | "engine"): string {
  const create = name === "client" ? "createRuntimeClient" : "createRuntime";
  const text = readFileSync(`${root}/tests/data/pte/linear.xnnpack.pte`).toString("base64");
  return `import { ${create}, tensor } from "sconce/run";
const bytes = Uint8Array.from(atob(${JSON.stringify(text)}), (c) => c.charCodeAt(0));
const name = "${name}";
export async function work() {
  try {
    const sconce = await ${create}();${RUN}
  } catch (error) {
    return "failed: " + error.code + ": " + error.message + " " + error.hint + " " + error.stack;
  }
}
`;
}

/** A page's script that shows the answers of these modules, with a semicolon between two. */
export const pageScript = (...modules: string[]): string => `
${modules.map((module, i) => `import { work as work${i} } from "${module}";`).join("\n")}
async function main() {
  const answers = [${modules.map((_, i) => `await work${i}()`).join(", ")}];
  document.body.textContent = answers.join("; ");
  document.title = "done";
}
main();
`;

/** A script that prints the answers. */
export const nodeScript = (...modules: string[]): string => `
${modules.map((module, i) => `import { work as work${i} } from "${module}";`).join("\n")}
async function main() {
  for (const work of [${modules.map((_, i) => `work${i}`).join(", ")}]) console.log(await work());
}
main();
`;

/** A page with one script. */
export const pageOf = (script: string): string =>
  `<!doctype html><meta charset="utf-8" /><link rel="icon" href="data:," /><body><script type="module" src="${script}"></script></body>`;
