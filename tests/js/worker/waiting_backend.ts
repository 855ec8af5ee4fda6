// A backend for a worker that waits in the middle of a call: it writes what it is asked into the file
// `asked` of a folder and goes on once there is a file `go`. The folder stands in the module's address.
import { appendFileSync, existsSync } from "node:fs";
import { join } from "node:path";
import type { Backend } from "sconce";
import demo, { type State } from "../setup/demo_backend.js";

const folder = new URL(import.meta.url).searchParams.get("folder")!;
const flag = new Int32Array(new SharedArrayBuffer(4));

function wait(what: string): void {
  appendFileSync(join(folder, "asked"), `${what}\n`);
  while (!existsSync(join(folder, "go"))) Atomics.wait(flag, 0, 0, 5);
}

const waiting: Backend<State> = {
  ...demo,
  id: "Waiting",
  keeps: () => false,
  // Each product is a part of its own: there is something else between two.
  supports: (node) => node.op === "aten::addmm" || "only products",
  preprocess(part, specs) {
    wait("preprocess");
    return demo.preprocess!(part, specs);
  },
  execute(state, inputs) {
    wait("execute");
    return demo.execute(state, inputs);
  },
};
export default waiting;
