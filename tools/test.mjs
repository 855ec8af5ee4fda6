// npm test: everything there is, part by part; npm test -- PART... runs some of the parts. With
// --verbose, all that the compilers say is shown. npm run test:all, or --all, builds the package with
// every bundler, and not with the quick ones alone.
//   check         text rules, layers, dead files and functions, C format, types
//   native        the C suite under ASan and UBSan, fuzz corpora, schemas
//   wasm          the module's surface, and the same C suite as wasm in Node
//   js            the library and the command against the built module, in two versions of Node
//   web           the page in Chromium
//   bundlers      the packed package in programs of others, built by their tools
//   conformance   official torch and executorch judge our files
// A part that cannot run fails; only conformance may be left out, where the package index is out of
// reach and SCONCE_OFFICIAL_VENV names nothing, and then it says so loudly.
import { existsSync, readdirSync, rmSync } from "node:fs";
import { build, buildPackage } from "./build.mjs";
import { quietly, say, step } from "./progress.mjs";
import { about, buildPreset, setUp } from "./setup.mjs";
import { StepFailed, bin, calmly, chromium, inRoot, jobs, script, tee } from "./steps.mjs";

const count = (passed, failed) => ({ passed, failed });
const sum = (parts) =>
  parts.reduce((a, b) => count(a.passed + b.passed, a.failed + b.failed), count(0, 0));

// Each script of tests/lint is one check; its exit code is the verdict.
async function check() {
  await setUp("native", "node");
  const scripts = ["lint", "layers", "unused", "prose"].map((name) => [
    "node",
    [`tests/lint/${name}.mjs`],
  ]);
  await quietly("node", ["wasm/abigen.mjs"]);
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
  if (!closing) throw new StepFailed(`ctest ended with ${status} and ran nothing`);
  const failed = Number(closing[2]);
  return count(Number(closing[3]) - failed, status !== 0 && failed === 0 ? 1 : failed);
}

async function native() {
  await setUp("native", "node");
  await buildPreset("dev", "native build with sanitizers");
  return ctest("dev");
}

async function wasm() {
  await setUp("wasm", "node");
  await buildPreset("wasm", "sconce.wasm");
  const surface = ["tests/lint/wasm_surface.mjs", "build/wasm/sconce.wasm"];
  const { status } = await tee("node", surface);
  console.log(`surface of the module: ${status === 0 ? "ok" : "FAILED"}`);
  await buildPreset("wasm-tests", "the C suite as wasm");
  return sum([status === 0 ? count(1, 0) : count(0, 1), await ctest("wasm-tests")]);
}

// Compiles tests/<folder> and returns its test files.
async function compileTests(folder) {
  rmSync(inRoot("build/js-tests"), { recursive: true, force: true });
  await quietly(bin("tsc"), ["-p", "tests/tsconfig.json"]);
  const compiled = inRoot("build/js-tests", folder);
  const files = existsSync(compiled)
    ? readdirSync(compiled)
        .filter((name) => /\.(test|spec)\.js$/.test(name))
        .sort()
    : [];
  if (!files.length) throw new StepFailed(`tests/${folder} holds no tests`);
  return files.map((name) => `${compiled}/${name}`);
}

// Compiling in the background can ask for memory while a process ends, and then waits for ever for a
// collection that the ending thread does not make: a process of Node 20 hangs once in some hundreds.
const FLAGS = ["--no-concurrent-recompilation", "--test", "--test-reporter=spec"];

async function nodeTests(node, files, environment = {}) {
  const { status, text } = await tee(node, [...FLAGS, ...files], {
    env: { ...process.env, ...environment },
  });
  const number = (word) => Number(new RegExp(`^\\S+ ${word} (\\d+)$`, "m").exec(text)?.[1] ?? 0);
  const failed = number("fail") + number("cancelled");
  return count(number("pass"), status !== 0 && failed === 0 ? 1 : failed);
}

// The path that a script prints of what it has set up, or undefined if that is out of reach.
async function another(title, args) {
  let found;
  await step(title, async () => {
    found = await quietly("bash", args, { allowed: [0, 3] });
  });
  return found.status === 0 ? found.text.trim() : undefined;
}

async function js() {
  await build();
  const files = await compileTests("js");
  const verdicts = [await nodeTests(process.execPath, files)];
  // The oldest Node we support is the usual one here; the newest long-lived one has its say too.
  if (parseInt(process.versions.node) < 24) {
    const newer = await another("Node 24", ["tools/runtime.sh", "node24"]);
    console.log(`\nthe same with ${newer}`);
    verdicts.push(await nodeTests(newer, files));
  }
  return sum(verdicts);
}

async function web() {
  await setUp("web");
  await build();
  return nodeTests(process.execPath, await compileTests("web"), { CHROME_PATH: chromium() });
}

async function bundlers(all) {
  await setUp("web");
  await build();
  const environment = { CHROME_PATH: chromium(), ...(all && { SCONCE_ALL: "1" }) };
  return nodeTests(process.execPath, await compileTests("bundlers"), environment);
}

async function conformance() {
  const python = await another("official torch and executorch", ["tools/official.sh"]);
  if (!python) {
    console.log(
      "conformance: NOT RUN. The official torch and executorch are out of reach: name an",
    );
    console.log(
      "environment that has them in SCONCE_OFFICIAL_VENV, or try again with the network up.",
    );
    return count(0, 0);
  }
  await buildPackage();
  await buildPreset("dev", "native tools");
  const { status, text } = await tee(python, ["tests/conformance/run.py"]);
  const closing = /^(\d+) passed, (\d+) failed/m.exec(text);
  if (!closing) throw new StepFailed(`tests/conformance/run.py ended with ${status} half way`);
  const failed = Number(closing[2]);
  return count(Number(closing[1]), status !== 0 && failed === 0 ? 1 : failed);
}

// Each part, what of the machine it needs, and about how many seconds it takes on two idle cores when
// everything is set up but nothing is built yet.
const parts = {
  check: { test: check, needs: ["native", "node"], seconds: 10 },
  native: { test: native, needs: ["native", "node"], seconds: 60 },
  wasm: { test: wasm, needs: ["wasm", "node"], seconds: 60 },
  js: { test: js, needs: ["wasm", "node"], seconds: 60 },
  web: { test: web, needs: ["wasm", "node", "web"], seconds: 70 },
  bundlers: { test: bundlers, needs: ["wasm", "node", "web"], seconds: 30 },
  conformance: { test: conformance, needs: ["wasm", "native", "node", "official"], seconds: 600 },
};

// Everything at once, before the first part. What cannot be set up fails the parts that need it, and
// no others: each asks again.
async function prepare(names) {
  const seconds = names.reduce((sum, name) => sum + parts[name].seconds, 0);
  say(
    `Testing ${names.join(", ")}: about ${about(seconds)} on two cores, less when much is built.`,
  );
  try {
    await setUp(...new Set(names.flatMap((name) => parts[name].needs)));
  } catch (error) {
    if (!(error instanceof StepFailed)) throw error;
    console.error(error.message);
  }
}

async function result(name, all) {
  try {
    return await parts[name].test(all);
  } catch (error) {
    if (!(error instanceof StepFailed)) throw error;
    console.error(`${name}: ${error.message}`);
    return count(0, 1);
  }
}

await script(async (given) => {
  const args = given.filter((arg) => arg !== "--verbose" && arg !== "--all");
  const unknown = args.filter((name) => !Object.hasOwn(parts, name));
  if (unknown.length) {
    throw new StepFailed(
      `there is no part '${unknown}'; the parts are: ${Object.keys(parts).join(", ")}`,
    );
  }
  const names = args.length ? args : Object.keys(parts);
  await prepare(names);
  const table = [];
  for (const name of names) {
    console.log(`\n=== ${name} ===`);
    const start = performance.now();
    const { passed, failed } = await result(name, given.includes("--all"));
    const seconds = ((performance.now() - start) / 1000).toFixed(0);
    table.push({ name, passed, failed, seconds });
  }
  console.log("");
  for (const { name, passed, failed, seconds } of table) {
    console.log(`${name.padEnd(12)} ${passed} passed, ${failed} failed (${seconds} s)`);
  }
  const total = sum(table);
  console.log(`${total.passed} passed, ${total.failed} failed`);
  if (total.failed || !total.passed) process.exitCode = 1;
});
