// npm run bench: the benchmarks of tests/bench, built for speed. Arguments go to the program.
import { buildPreset, inRoot, run, script, setUp } from "./steps.mjs";

await script((args) => {
  setUp("native");
  buildPreset("release");
  run(inRoot("build/release/sc_bench"), args);
});
