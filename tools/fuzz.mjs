// npm run fuzz: every fuzzer for a while, from its corpus. npm run fuzz -- [--seconds N] [NAME...]
// New finds of a fuzzer go to build/fuzz/found/NAME; a crash is kept in the same folder and fails
// the run.
import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { parseArgs } from "node:util";
import { buildPreset, setUp } from "./setup.mjs";
import { StepFailed, calmly, inRoot, script, tee } from "./steps.mjs";

await script(async (args) => {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: { seconds: { type: "string", default: "20" }, verbose: { type: "boolean" } },
  });
  await setUp("native");
  await buildPreset("fuzz", "fuzzers");
  const known = readdirSync(inRoot("tests/fuzz"))
    .map((file) => /^fuzz_(.*)\.c$/.exec(file)?.[1])
    .filter((name) => name !== undefined);
  const names = positionals.length ? positionals : known;
  if (!names.length) throw new StepFailed("tests/fuzz holds no fuzzers");
  let failed = 0;
  for (const name of names) {
    if (!known.includes(name))
      throw new StepFailed(`there is no fuzzer '${name}'; the fuzzers are: ${known.join(", ")}`);
    const found = inRoot("build/fuzz/found", name);
    mkdirSync(found, { recursive: true });
    const corpus = inRoot("tests/fuzz/corpus", name);
    console.log(`\nfuzz ${name}, ${values.seconds} s`);
    const [command, all] = calmly(inRoot(`build/fuzz/fuzz_${name}`), [
      `-max_total_time=${values.seconds}`,
      "-print_final_stats=1",
      "-timeout=10",
      "-rss_limit_mb=2048",
      "-verbosity=0",
      `-artifact_prefix=${found}-`,
      found,
      ...(existsSync(corpus) ? [corpus] : []),
    ]);
    const { status, text } = await tee(command, all);
    const runs = Number(/number_of_executed_units: (\d+)/.exec(text)?.[1] ?? 0);
    // A fuzzer that ran nothing checked nothing.
    const verdict = status !== 0 ? "CRASH" : runs === 0 ? "RAN NOTHING" : "no crash";
    if (verdict !== "no crash") failed++;
    console.log(`fuzz ${name}: ${runs} inputs, ${verdict}`);
  }
  console.log(`${names.length - failed} passed, ${failed} failed`);
  if (failed) process.exitCode = 1;
});
