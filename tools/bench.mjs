// npm run bench: the project's figures, measured by tests/bench/run.mjs on a fresh build; arguments
// go to it. With "kernels" first, the native benchmarks of single kernels instead. Only figures go
// to stdout, so that with --json (and npm run --silent) it is one JSON document.
import { build } from "./build.mjs";
import { buildPreset, setUp } from "./setup.mjs";
import { inRoot, run, script } from "./steps.mjs";

await script(async (all) => {
  const args = all.filter((arg) => arg !== "--verbose");
  if (args[0] === "kernels") {
    await setUp("native");
    await buildPreset("release", "native build");
    run(inRoot("build/release/sc_bench"), args.slice(1));
    return;
  }
  await setUp("web");
  await build();
  run("node", ["tests/bench/run.mjs", ...args]);
});
