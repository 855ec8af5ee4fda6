// npm test: everything there is, part by part; npm test -- PART... runs some of the parts.
//   check         text rules, layers, dead files and functions, C format, types
//   native        the C suite under ASan and UBSan, fuzz corpora, schemas
//   wasm          the module's surface, and the same C suite as wasm in Node
//   js            the library and the command against the built module, in two versions of Node
//   web           the page in Chromium
//   conformance   official torch and executorch judge our files
// A part that cannot run fails; only conformance may be left out, where the package index is out of
// reach and SCONCE_OFFICIAL_VENV names nothing, and then it says so loudly.
import { existsSync, readdirSync, rmSync } from "node:fs";
import { spawnSync } from "node:child_process";
import { build, buildPackage } from "./build.mjs";
import {
  StepFailed,
  bin,
  buildPreset,
  calmly,
  chromium,
  inRoot,
  jobs,
  output,
  run,
  script,
  setUp,
  tee,
} from "./steps.mjs";

const count = (passed, failed) => ({ passed, failed });
const sum = (parts) =>
  parts.reduce((a, b) => count(a.passed + b.passed, a.failed + b.failed), count(0, 0));

// Each script of tests/tools is one check; its exit code is the verdict.
async function check() {
  setUp("native", "node");
  const scripts = ["lint", "layers", "unused"].map((name) => ["node", [`tests/tools/${name}.mjs`]]);
  run("node", ["wasm/abigen.mjs"]);
  const types = ["tsconfig.json", "web/tsconfig.json"].map((file) => {
    return [bin("tsc"), ["--noEmit", "-p", file]];
  });
  const verdicts = [];
  for (const [command, args] of [...scripts, ...types]) {
    const { status } = await tee(command, args);
    verdicts.push(status === 0 ? count(1, 0) : count(0, 1));
  }
  return sum(verdicts);
}

async function ctest(preset) {
  const { status, text } = await tee(...calmly("ctest", ["--preset", preset, "-j", String(jobs)]));
  const closing = /(\d+)% tests passed, (\d+) tests failed out of (\d+)/.exec(text);
  if (!closing) throw new StepFailed("ctest ran nothing");
  const failed = Number(closing[2]);
  return count(Number(closing[3]) - failed, status !== 0 && failed === 0 ? 1 : failed);
}

async function native() {
  setUp("native", "node");
  buildPreset("dev");
  return ctest("dev");
}

async function wasm() {
  setUp("wasm", "node");
  buildPreset("wasm");
  const surface = ["tests/tools/wasm_surface.mjs", "build/wasm/sconce.wasm"];
  const { status } = await tee("node", surface);
  console.log(`surface of the module: ${status === 0 ? "ok" : "FAILED"}`);
  buildPreset("wasm-tests");
  return sum([status === 0 ? count(1, 0) : count(0, 1), await ctest("wasm-tests")]);
}

// Compiles tests/<folder> and returns its test files.
function compileTests(folder) {
  rmSync(inRoot("build/js-tests"), { recursive: true, force: true });
  run(bin("tsc"), ["-p", "tests/tsconfig.json"]);
  const compiled = inRoot("build/js-tests", folder);
  const files = existsSync(compiled)
    ? readdirSync(compiled)
        .filter((name) => /\.(test|spec)\.js$/.test(name))
        .sort()
    : [];
  if (!files.length) throw new StepFailed(`tests/${folder} holds no tests`);
  return files.map((name) => `${compiled}/${name}`);
}

async function nodeTests(node, files, environment = {}) {
  const { status, text } = await tee(node, ["--test", "--test-reporter=spec", ...files], {
    env: { ...process.env, ...environment },
  });
  const number = (word) => Number(new RegExp(`^\\S+ ${word} (\\d+)$`, "m").exec(text)?.[1] ?? 0);
  const failed = number("fail") + number("cancelled");
  return count(number("pass"), status !== 0 && failed === 0 ? 1 : failed);
}

async function js() {
  build();
  const files = compileTests("js");
  const verdicts = [await nodeTests(process.execPath, files)];
  // The oldest Node we support is the usual one here; the newest long-lived one has its say too.
  if (parseInt(process.versions.node) < 24) {
    const newer = output("bash", ["tools/runtime.sh", "node24"]).trim();
    console.log(`\nthe same with ${newer}`);
    verdicts.push(await nodeTests(newer, files));
  }
  return sum(verdicts);
}

async function web() {
  setUp("web");
  build();
  return nodeTests(process.execPath, compileTests("web"), { CHROME_PATH: chromium() });
}

async function conformance() {
  setUp("native", "node");
  const found = spawnSync("bash", [inRoot("tools/official.sh")], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
  if (found.status === 3) {
    console.log("conformance: NOT RUN, the official tools are out of reach");
    return count(0, 0);
  }
  if (found.status !== 0) throw new StepFailed("tools/official.sh failed");
  buildPackage();
  const { status, text } = await tee(found.stdout.trim(), ["tests/conformance/run.py"]);
  const closing = /^(\d+) passed, (\d+) failed/m.exec(text);
  if (!closing) throw new StepFailed("tests/conformance/run.py did not finish");
  const failed = Number(closing[2]);
  return count(Number(closing[1]), status !== 0 && failed === 0 ? 1 : failed);
}

const parts = { check, native, wasm, js, web, conformance };

await script(async (args) => {
  const unknown = args.filter((name) => !(name in parts));
  if (unknown.length) {
    throw new StepFailed(`no part '${unknown}'; there are: ${Object.keys(parts).join(", ")}`);
  }
  const table = [];
  for (const name of args.length ? args : Object.keys(parts)) {
    console.log(`\n=== ${name} ===`);
    const start = performance.now();
    let result;
    try {
      result = await parts[name]();
    } catch (error) {
      if (!(error instanceof StepFailed)) throw error;
      console.error(`${name}: ${error.message}`);
      result = count(0, 1);
    }
    const seconds = ((performance.now() - start) / 1000).toFixed(0);
    table.push({ name, ...result, seconds });
  }
  console.log("");
  for (const { name, passed, failed, seconds } of table) {
    console.log(`${name.padEnd(12)} ${passed} passed, ${failed} failed (${seconds} s)`);
  }
  const total = sum(table);
  console.log(`${total.passed} passed, ${total.failed} failed`);
  if (total.failed || !total.passed) process.exitCode = 1;
});
