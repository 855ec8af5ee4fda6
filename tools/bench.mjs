// npm run bench: the project's figures, measured by tests/bench/run.mjs on a fresh build; arguments
// go to it. With "kernels" first, the native benchmarks of single kernels instead. Only figures go
// to stdout, so that with --json (and npm run --silent) it is one JSON document.
import { buildPreset, inRoot, run, script, setUp } from "./steps.mjs";

const onStderr = { stdio: ["ignore", 2, 2] };

await script((args) => {
  if (args[0] === "kernels") {
    setUp("native");
    buildPreset("release", onStderr);
    run(inRoot("build/release/sc_bench"), args.slice(1));
    return;
  }
  setUp("web");
  run("node", ["tools/build.mjs"], onStderr);
  run("node", ["tests/bench/run.mjs", ...args]);
});
