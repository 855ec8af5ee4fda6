// npm run bench: the project's figures, measured by tests/bench/run.mjs on a fresh build; arguments
// go to it. With "kernels" first, the native benchmarks of single kernels instead.
import { build } from "./build.mjs";
import { buildPreset, inRoot, run, script, setUp } from "./steps.mjs";

await script((args) => {
  if (args[0] === "kernels") {
    setUp("native");
    buildPreset("release");
    run(inRoot("build/release/sc_bench"), args.slice(1));
    return;
  }
  setUp("web");
  build();
  run("node", ["tests/bench/run.mjs", ...args]);
});
