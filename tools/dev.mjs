// npm run dev: the page on Vite's server, with the module and the library rebuilt when their
// sources change.
import { spawn } from "node:child_process";
import { watch } from "node:fs";
import { buildLibrary, buildPackage, buildWasm } from "./build.mjs";
import { together } from "./progress.mjs";
import { StepFailed, bin, inRoot, root, script } from "./steps.mjs";

// One build at a time; what changes meanwhile is built after it.
let building = Promise.resolve();
function rebuild() {
  building = building
    .then(() => together(buildWasm(), buildLibrary()))
    .catch((error) => {
      if (!(error instanceof StepFailed)) throw error;
      console.error(error.message);
    });
}

await script(async () => {
  await buildPackage();
  let timer;
  for (const folder of ["src", "wasm", "schema"]) {
    watch(inRoot(folder), { recursive: true }, (_event, name) => {
      if (name?.endsWith(".gen.ts")) return;
      clearTimeout(timer);
      timer = setTimeout(rebuild, 200);
    });
  }
  const vite = spawn(bin("vite"), ["web"], { cwd: root, stdio: "inherit" });
  vite.on("close", (status) => process.exit(status ?? 0));
});
