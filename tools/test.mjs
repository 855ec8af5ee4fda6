// npm test runs what a person who changed a line waits for; npm run test:all runs everything.
//
//   npm test                    every part, with some cases of every kind where there are thousands
//   npm test -- PART...         some parts
//   npm run test:all            every case of every part
//   npm run test:all -- --rest  the cases that npm test leaves out
//   --verbose                   shows all output of the compilers
//   --help                      lists the parts and their seconds
//
//   check         text rules, layers, dead files and functions, C format, types
//   native        the C suite under ASan and UBSan, fuzz corpora, schemas; then what threads share,
//                 under ThreadSanitizer
//   wasm          the module's surface, and the same C suite as wasm in Node; then kernels with relaxed
//                 SIMD in Node 24
//   js            the library and the command against the built module, in two versions of Node
//   web           the page in Chromium
//   bundlers      the packed package in programs of others, built by their tools
//   conformance   official torch and executorch judge our files
//
// A part that cannot run fails. Only conformance may be left out: where the package index is out of
// reach and SCONCE_OFFICIAL_VENV names nothing, a loud message says so.
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MODULES, build, buildPackage } from "./build.mjs";
import { quietly, say, step, together } from "./progress.mjs";
import { about, announce, buildPreset, due, setUp, start } from "./setup.mjs";
import { StepFailed, bin, calmly, chromium, inRoot, jobs, script, tee } from "./steps.mjs";

const count = (passed, failed) => ({ passed, failed });
const sum = (parts) =>
  parts.reduce((a, b) => count(a.passed + b.passed, a.failed + b.failed), count(0, 0));

// Each script of tests/lint is one check; its exit code is the verdict.
async function check() {
  await setUp("native", "node");
  const scripts = ["lint", "layers", "layers_js", "unused", "prose"].map((name) => [
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

async function native({ takes }) {
  await setUp("native", "node");
  const verdicts = [];
  if (takes(true)) {
    await buildPreset("dev", "native build with sanitizers");
    verdicts.push(await ctest("dev"));
  }
  if (takes(false)) {
    await buildPreset("tsan", "native build with ThreadSanitizer");
    verdicts.push(await ctest("tsan"));
  }
  return sum(verdicts);
}

async function wasm({ takes }) {
  await setUp("wasm", "node");
  return sum([
    ...(takes(true) ? [await wasmOfAll()] : []),
    ...(takes(false) ? [await wasmWithRelaxedSimd()] : []),
  ]);
}

// The files that differ from the baseline: instructions round differently, or are other ones.
async function wasmWithRelaxedSimd() {
  const node = await another("Node 24", ["tools/runtime.sh", "node24"]);
  if (node === undefined) {
    console.log("relaxed SIMD: NOT RUN. Node 24 is out of reach.");
    return count(0, 0);
  }
  const variables = [`-DNODE_PROGRAM=${node}`];
  await buildPreset("relaxed-tests", "the C suite with relaxed SIMD", variables);
  return ctest("relaxed-tests");
}

async function wasmOfAll() {
  await buildPreset("wasm", "sconce.wasm and its flavours");
  // The oldest Node does not know relaxed SIMD.
  const newer = await another("Node 24", ["tools/runtime.sh", "node24"]);
  const verdicts = [];
  for (const name of MODULES) {
    const node = name.includes("relaxed") ? newer : process.execPath;
    const { status } = await tee(node, ["tests/lint/wasm_surface.mjs", `build/wasm/${name}`]);
    console.log(`surface of ${name}: ${status === 0 ? "ok" : "FAILED"}`);
    verdicts.push(status === 0 ? count(1, 0) : count(0, 1));
  }
  await buildPreset("wasm-tests", "the C suite as wasm");
  return sum([...verdicts, await ctest("wasm-tests")]);
}

// Compiles tests/<folder> and returns its test files.
async function compileTests(folder) {
  rmSync(inRoot("build/js-tests"), { recursive: true, force: true });
  await quietly(bin("tsc"), ["-p", "tests/tsconfig.json"]);
  const compiled = inRoot("build/js-tests", folder);
  const files = existsSync(compiled)
    ? readdirSync(compiled, { recursive: true })
        .filter((name) => /\.(test|spec)\.js$/.test(name))
        .sort()
    : [];
  if (!files.length) throw new StepFailed(`tests/${folder} holds no tests`);
  return files.map((name) => `${compiled}/${name}`);
}

// Compiling in the background can ask for memory while a process ends, and then waits for ever for a
// collection that the ending thread does not make: a process of Node 20 hangs once in some hundreds.
const FLAGS = ["--no-concurrent-recompilation", "--test", "--test-reporter=spec"];

// By default Node leaves a core to itself, which of two is half.
async function nodeTests(node, files, environment = {}) {
  const flags = [...FLAGS, `--test-concurrency=${jobs}`];
  const { status, text } = await tee(node, [...flags, ...files], {
    env: { ...process.env, ...environment },
  });
  const number = (word) => Number(new RegExp(`^\\S+ ${word} (\\d+)$`, "m").exec(text)?.[1] ?? 0);
  const failed = number("fail") + number("cancelled");
  return count(number("pass"), status !== 0 && failed === 0 ? 1 : failed);
}

// Starts those parts of the bench once that `part` of the tests stands for. Models are made in a folder
// of their own, so that making them is tested, too.
async function benchOf(part) {
  const models = mkdtempSync(join(tmpdir(), "sconce-bench-"));
  try {
    const { text, status } = await tee(
      "node",
      ["tests/bench/run.mjs", "--quick", "--tested", part],
      {
        env: { ...process.env, SCONCE_BENCH_MODELS: models },
      },
    );
    const closing = /^(\d+) parts started, (\d+) failed$/m.exec(text);
    if (!closing) throw new StepFailed(`tests/bench/run.mjs ended with ${status} half way`);
    return count(Number(closing[1]), Number(closing[2]));
  } finally {
    rmSync(models, { recursive: true, force: true });
  }
}

// The path that a script prints of what it has set up, or undefined if that is out of reach.
async function another(title, args) {
  let found;
  await step(title, async () => {
    found = await quietly("bash", args, { allowed: [0, 3] });
  });
  return found.status === 0 ? found.text.trim() : undefined;
}

// Rooms of tests/js and files in them whose tests can tell versions of Node apart; the newer Node runs
// these alone in npm test.
const BY_VERSION = new Set([
  ...["source", "sink", "worker"], // streams, fetch, files, workers
  ...["engine/callbacks", "engine/border", "recipe/session_client", "cli/streams"], // the same
  ...["engine/dispose", "engine/forgotten"], // using, finalizers, memory
  ...["tensor/floats", "tensor/tensors", "engine/realms"], // Float16Array, typed arrays
  ...["engine/shown", "package/hosts", "package/package", "cli/cli"], // util.inspect, modules
]);

async function js(scope) {
  await build();
  const files = await compileTests("js");
  const verdicts = scope.isRest
    ? []
    : [await nodeTests(process.execPath, files), await benchOf("js")];
  // The oldest Node we support is the usual one here; the newest long-lived one has its say too.
  if (parseInt(process.versions.node) < 24) {
    const newer = await another("Node 24", ["tools/runtime.sh", "node24"]);
    console.log(`\nwith ${newer}`);
    // "source/http", and its room.
    const namesOf = (path) => {
      const [, room, name] = /([^/]+)\/([^/]+)\.test\.js$/.exec(path);
      return [room, `${room}/${name}`];
    };
    const found = new Set(files.flatMap(namesOf));
    const gone = [...BY_VERSION].filter((one) => !found.has(one));
    if (gone.length) throw new StepFailed(`BY_VERSION names files that are gone: ${gone}`);
    const byVersion = (path) => namesOf(path).some((name) => BY_VERSION.has(name));
    const chosen = files.filter((path) => scope.takes(byVersion(path)));
    verdicts.push(await nodeTests(newer, chosen));
  }
  return sum(verdicts);
}

async function web() {
  await setUp("web");
  await build();
  const files = await compileTests("web");
  const { shareBrowser } = await import(inRoot("build/js-tests/web/browser.js"));
  const browser = await shareBrowser(chromium());
  try {
    const environment = { SCONCE_BROWSER: browser.wsEndpoint() };
    const verdict = await nodeTests(process.execPath, files, environment);
    return sum([verdict, await benchOf("web")]);
  } finally {
    await browser.close();
  }
}

async function bundlers({ name, isRest, takes }) {
  await setUp("web");
  await build();
  const environment = { CHROME_PATH: chromium(), SCONCE_SCOPE: name };
  const files = await compileTests("bundlers");
  // hosts.test.ts has no cases to choose from, and has run with the quick ones.
  const chosen = isRest ? files.filter((path) => path.endsWith("bundlers.test.js")) : files;
  const verdict = await nodeTests(process.execPath, chosen, environment);
  return takes(false) ? sum([verdict, await benchOf("bundlers")]) : verdict;
}

async function conformance({ name, takes }) {
  await official;
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
  const { status, text } = await tee(python, ["tests/conformance/run.py", `--${name}`]);
  const closing = /^(\d+) passed, (\d+) failed/m.exec(text);
  if (!closing) throw new StepFailed(`tests/conformance/run.py ended with ${status} half way`);
  const failed = Number(closing[2]);
  const verdict = count(Number(closing[1]), status !== 0 && failed === 0 ? 1 : failed);
  if (!takes(false)) return verdict;
  await setUp("web");
  return sum([verdict, await benchOf("conformance")]);
}

// Each part, what of the machine it needs, and about how many seconds it takes on two idle cores when
// everything is set up but nothing is built yet: in npm test, and what is left of it for --rest.
const parts = {
  check: { test: check, needs: ["native", "node"], quick: 15, rest: 0 },
  native: { test: native, needs: ["native", "node"], quick: 90, rest: 120 },
  wasm: { test: wasm, needs: ["wasm", "node"], quick: 90, rest: 100 },
  js: { test: js, needs: ["wasm", "node"], quick: 170, rest: 60 },
  web: { test: web, needs: ["wasm", "node", "web"], quick: 170, rest: 0 },
  bundlers: { test: bundlers, needs: ["wasm", "node", "web"], quick: 50, rest: 270 },
  conformance: {
    test: conformance,
    needs: ["wasm", "native", "node", "official"],
    quick: 100,
    rest: 360,
  },
};

// Which cases run. `takes` decides about a case that npm test runs, or leaves out.
const scopes = {
  quick: { name: "quick", takes: (isQuick) => isQuick, seconds: ({ quick }) => quick },
  rest: { name: "rest", isRest: true, takes: (isQuick) => !isQuick, seconds: ({ rest }) => rest },
  all: { name: "all", takes: () => true, seconds: ({ quick, rest }) => quick + rest },
};

// Ends when the official stack is set up, or cannot be.
let official = Promise.resolve();

// Sets up everything at once. Only conformance waits for the official stack, which takes longest: the
// other parts run meanwhile. A failure here fails the parts that need it: each asks again.
async function prepare(names, scope) {
  const seconds = names.reduce((sum, name) => sum + scope.seconds(parts[name]), 0);
  say(
    `Testing ${names.join(", ")}: about ${about(seconds)} on two cores, less when much is built.`,
  );
  try {
    const works = due(...new Set(names.flatMap((name) => parts[name].needs)));
    announce(works);
    const ready = start(works);
    official = ready("official").catch(() => {});
    const others = works.filter(({ work }) => work !== "official");
    await together(...others.map(({ work }) => ready(work)));
  } catch (error) {
    if (!(error instanceof StepFailed)) throw error;
    console.error(error.message);
  }
}

async function result(name, scope) {
  try {
    return await parts[name].test(scope);
  } catch (error) {
    if (!(error instanceof StepFailed)) throw error;
    console.error(`${name}: ${error.message}`);
    return count(0, 1);
  }
}

function help() {
  console.log(
    "npm test [-- PART...]; npm run test:all [-- [--rest] PART...]; --verbose shows more",
  );
  console.log("Seconds on two cores, when everything is set up and nothing is built:");
  console.log(`${"".padEnd(12)} npm test    --rest`);
  for (const [name, { quick, rest }] of Object.entries(parts)) {
    console.log(`${name.padEnd(12)} ${`${quick}`.padStart(8)} ${`${rest}`.padStart(9)}`);
  }
}

function readArguments(given) {
  const flags = given.filter((arg) => arg.startsWith("--"));
  const unknown = given.filter((arg) =>
    arg.startsWith("--")
      ? !["--all", "--rest", "--verbose"].includes(arg)
      : !Object.hasOwn(parts, arg),
  );
  if (unknown.length) {
    const known = Object.keys(parts).join(", ");
    throw new StepFailed(
      `there is no part or flag '${unknown[0]}'; parts: ${known}; flags: --all, --rest, --verbose, --help`,
    );
  }
  const scope =
    scopes[flags.includes("--rest") ? "rest" : flags.includes("--all") ? "all" : "quick"];
  const named = given.filter((arg) => !arg.startsWith("--"));
  const names = named.length ? named : Object.keys(parts);
  return { scope, names: names.filter((name) => scope.seconds(parts[name]) > 0) };
}

await script(async (given) => {
  if (given.includes("--help")) return help();
  const { scope, names } = readArguments(given);
  const begin = performance.now();
  await prepare(names, scope);
  const since = (start) => ((performance.now() - start) / 1000).toFixed(0);
  const settingUp = since(begin);
  const table = [];
  for (const name of names) {
    console.log(`\n=== ${name} ===`);
    const start = performance.now();
    const { passed, failed } = await result(name, scope);
    table.push({ name, passed, failed, seconds: since(start) });
  }
  console.log(`\n${"set-up".padEnd(12)} ${settingUp} s`);
  for (const { name, passed, failed, seconds } of table) {
    console.log(`${name.padEnd(12)} ${passed} passed, ${failed} failed (${seconds} s)`);
  }
  const total = sum(table);
  console.log(`${total.passed} passed, ${total.failed} failed`);
  if (total.failed || !total.passed) process.exitCode = 1;
});
