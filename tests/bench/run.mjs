// The figures of the project, measured again: lowering time and memory, growth with the graph,
// inference beside other engines, story speed, sizes, plans beside the official exporter's.
//   npm run bench -- [--json] [PART...]      parts: lower grow infer story sizes plans page
// Machines are shared and noisy: times are the least of several runs, and every ratio is taken
// between runs that alternate inside one process.
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { brotliCompressSync } from "node:zlib";
import { createEngine, tensor } from "sconce";
import { tell } from "../../examples/stories.mjs";
import { serve } from "../../tools/serve.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));
const cache = join(process.env.SCONCE_CACHE ?? join(homedir(), ".cache/sconce"), "bench");
const sample = (name) => join(root, "models", name);
const cached = (name) => join(cache, name);

const PEERS = [
  "onnxruntime-web@1.30.0",
  "@tensorflow/tfjs-core@4.22.0",
  "@tensorflow/tfjs-backend-wasm@4.22.0",
  "@tensorflow/tfjs-converter@4.22.0",
];

/** Makes models and installs peers; neither is part of the project. */
function prepare() {
  mkdirSync(cache, { recursive: true });
  const models = [
    "mobilenet_v2.pt2",
    "mobilenet_v2.onnx",
    "lstm_160.pt2",
    "lstm_1280.pt2",
    "linear_500mb.pt2",
  ];
  const python = models.every((name) => existsSync(cached(name))) ? undefined : officialPython();
  if (python) {
    const extra =
      spawnSync(python, ["-c", "import onnx, onnxscript"]).status === 0
        ? []
        : ["onnx", "onnxscript"];
    if (extra.length)
      execFileSync(python, ["-m", "pip", "install", "-q", ...extra], { stdio: "inherit" });
    execFileSync(python, [join(root, "tests/bench/make_models.py"), cache], { stdio: "inherit" });
  }
  if (!existsSync(cached("node_modules/onnxruntime-web"))) {
    writeFileSync(cached("package.json"), '{"private": true}\n');
    execFileSync("npm", ["install", "--silent", "--ignore-scripts", ...PEERS], {
      cwd: cache,
      stdio: "inherit",
    });
  }
}

function officialPython() {
  const found = spawnSync("bash", [join(root, "tools/official.sh")], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
  return found.status === 0 ? found.stdout.trim() : undefined;
}

const minimum = (times) => Math.min(...times);
const median = (times) => [...times].sort((a, b) => a - b)[Math.floor(times.length / 2)];
const round = (x) => Number(x.toPrecision(4));

/** Runs tasks in turn, `rounds` times after warming up, and gives each one's times. */
async function alternate(tasks, rounds, warmup) {
  const times = tasks.map(() => []);
  for (let i = -warmup; i < rounds; i++) {
    for (const [k, task] of tasks.entries()) {
      const begin = performance.now();
      await task();
      if (i >= 0) times[k].push(performance.now() - begin);
    }
  }
  return times;
}

const STORY = {
  prefill: { path: sample("stories260k.prefill.pt2") },
  decode: { path: sample("stories260k.decode.pt2") },
};
const STORY_OPTIONS = { shareMutableBuffers: true, constantMethods: { get_max_seq_len: 256 } };

// --- Lowering ----------------------------------------------------------------------------------------

const OFFICIAL_MS = { stories260k: 24500, mobilenet_v2: 17000 };

async function lower() {
  const jobs = {
    stories260k: [STORY, STORY_OPTIONS],
    "face-rfb320": [{ path: sample("face-rfb320.pt2") }, {}],
    mobilenet_v2: [{ path: cached("mobilenet_v2.pt2") }, {}],
  };
  const rows = {};
  for (const [name, [programs, options]] of Object.entries(jobs)) {
    const fresh = await createEngine();
    fresh.lower(programs, options).dispose();
    const heap = fresh.inspect(programs.path ? programs : STORY.decode);
    const first = await createEngine();
    const program = first.lower(programs, options);
    const moduleBytes = program.inspect().heapBytes;
    program.dispose();
    const [times] = await alternate([() => fresh.lower(programs, options).dispose()], 20, 20);
    rows[name] = {
      ms: round(minimum(times)),
      median_ms: round(median(times)),
      heap_mb: round(wasmBytes(fresh) / 1e6),
      compiler_mb: round(moduleBytes / 1e6),
      official_ms: OFFICIAL_MS[name] ?? null,
      weights_mb: round(heap.constantBytes / 1e6),
    };
    fresh.dispose();
  }
  return rows;
}

/** The module's whole memory, which only ever grows: its size is the peak. */
function wasmBytes(engine) {
  const file = readFileSync(join(root, "tests/models/linear.pt2"));
  const lowered = engine.lower(new Uint8Array(file));
  const program = engine.load(lowered.buffer);
  const { heapBytes } = program.inspect();
  program.dispose();
  lowered.dispose();
  return heapBytes;
}

async function grow() {
  const rows = {};
  for (const name of ["lstm_160", "lstm_1280", "linear_500mb"]) {
    const engine = await createEngine();
    const source = { path: cached(`${name}.pt2`) };
    const rounds = name === "lstm_160" ? 8 : 2;
    const [times] = await alternate(
      [() => engine.lower(source).dispose()],
      rounds,
      name === "lstm_160" ? 4 : 1,
    );
    const lowered = engine.lower(source);
    const { plans } = lowered.inspect();
    const program = name.startsWith("lstm") ? engine.load(lowered.buffer) : undefined;
    rows[name] = {
      ms: round(minimum(times)),
      file_mb: round(statSync(source.path).size / 1e6),
      pte_mb: round(lowered.size / 1e6),
      planned_bytes: plans[0].plannedBytes,
      live_bytes: plans[0].liveBytes,
      instructions: program?.inspect().methods[0].instructions ?? null,
    };
    program?.dispose();
    lowered.dispose();
    rows[name].heap_mb = round(wasmBytes(engine) / 1e6);
    engine.dispose();
  }
  rows.ratio_1280_to_160 = round(rows.lstm_1280.ms / rows.lstm_160.ms);
  return rows;
}

// --- Inference -----------------------------------------------------------------------------------------

async function ortSession(onnx) {
  const ort = await import(
    pathToFileURL(cached("node_modules/onnxruntime-web/dist/ort.node.min.mjs")).href
  );
  ort.env.wasm.numThreads = 1;
  return {
    ort,
    session: await ort.InferenceSession.create(onnx, {
      executionProviders: ["wasm"],
      logSeverityLevel: 3,
    }),
  };
}

function largestDifference(a, b) {
  let most = 0;
  for (let i = 0; i < a.length; i++) most = Math.max(most, Math.abs(a[i] - b[i]));
  return most;
}

async function infer() {
  const rows = {};
  const models = {
    mobilenet_v2: [cached("mobilenet_v2.pt2"), cached("mobilenet_v2.onnx"), [1, 3, 224, 224]],
    "face-rfb320": [
      sample("face-rfb320.pt2"),
      join(root, "tests/bench/face-rfb320.onnx"),
      [1, 3, 240, 320],
    ],
  };
  for (const [name, [pt2, onnx, shape]] of Object.entries(models)) {
    const engine = await createEngine();
    const lowered = engine.lower({ path: pt2 });
    const program = engine.load(lowered.buffer);
    lowered.dispose();
    const data = Float32Array.from({ length: shape.reduce((p, s) => p * s, 1) }, (_, i) =>
      Math.sin(i * 0.37),
    );
    const input = tensor(data, shape);
    const { ort, session } = await ortSession(onnx);
    const feeds = { [session.inputNames[0]]: new ort.Tensor("float32", data, shape) };
    const ours = program.run("forward", [input]);
    const theirs = await session.run(feeds);
    const difference = Math.max(
      ...ours.map((o) =>
        Math.min(
          ...session.outputNames.map((n) =>
            theirs[n].data.length === o.data.length
              ? largestDifference(o.data, theirs[n].data)
              : Infinity,
          ),
        ),
      ),
    );
    const [a, b] = await alternate(
      [() => program.run("forward", [input]), () => session.run(feeds)],
      30,
      10,
    );
    rows[name] = {
      sconce_ms: round(minimum(a)),
      ort_web_ms: round(minimum(b)),
      speedup_over_ort_web: round(minimum(b) / minimum(a)),
      median_speedup: round(median(b) / median(a)),
      largest_difference: difference,
    };
    program.dispose();
    engine.dispose();
  }
  return rows;
}

async function story() {
  const engine = await createEngine();
  const lowered = engine.lower(STORY, STORY_OPTIONS);
  const program = engine.load(lowered.buffer);
  const golden = JSON.parse(readFileSync(sample("stories260k.golden.json"), "utf8")).tokens;
  let best = Infinity;
  let exact = true;
  for (let round = 0; round < 12; round++) {
    const tokens = [];
    const begin = performance.now();
    for await (const token of tell(program, golden.length)) tokens.push(token);
    best = Math.min(best, performance.now() - begin);
    exact &&= tokens.join() === golden.join();
  }
  const row = {
    tokens_per_s: round((golden.length - 1) / (best / 1000)),
    exact,
    pte_bytes: lowered.size,
    native_llama2c_tokens_per_s: 2400,
  };
  program.dispose();
  lowered.dispose();
  engine.dispose();
  return row;
}

// --- Sizes ---------------------------------------------------------------------------------------------

function sizes() {
  const rows = {};
  const files = ["sconce.wasm", "index.js", "engine.js", "client.js", "worker.js"];
  for (const name of files) {
    const bytes = readFileSync(join(root, "dist", name));
    rows[name] = { raw: bytes.length, brotli: brotliCompressSync(bytes).length };
  }
  const all = [
    "abi.gen",
    "client",
    "compile",
    "core",
    "engine",
    "errors",
    "index",
    "loader",
    "memory",
    "meta",
    "program",
    "rpc",
    "source",
    "tensor",
  ];
  const library = Buffer.concat(all.map((name) => readFileSync(join(root, "dist", `${name}.js`))));
  rows["library, all modules"] = {
    raw: library.length,
    brotli: brotliCompressSync(library).length,
  };
  return rows;
}

// Ours and the official exporter's, for every recorded program: the conformance runner measures both.
function plans() {
  const python = officialPython();
  if (!python) return { skipped: "the official tools are out of reach" };
  const done = spawnSync(python, [join(root, "tests/conformance/run.py"), "--table"], {
    encoding: "utf8",
    maxBuffer: 1 << 26,
  });
  return JSON.parse(done.stdout.slice(done.stdout.indexOf("{")));
}

// --- The page ------------------------------------------------------------------------------------------

/** Milliseconds in a fresh browser from navigation to the first word of the story, all lowered there. */
async function page() {
  const { chromium } = await import("playwright-core");
  const executablePath = ["/usr/bin/chromium", "/usr/bin/google-chrome"].find(existsSync);
  if (!executablePath) return { skipped: "no Chromium" };
  const { url, close } = await serve(join(root, "dist/web"), 0);
  const args = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
  ];
  const times = { interactive: [], first_result: [] };
  for (let round = 0; round < 5; round++) {
    const browser = await chromium.launch({ executablePath, args });
    const tab = await browser.newPage();
    await tab.goto(`${url}#story`);
    const hasWords = () =>
      (document.querySelector(".story-text")?.textContent ?? "").trim() !== "" && performance.now();
    const first = await tab.waitForFunction(hasWords, undefined, { polling: "raf" });
    times.first_result.push(await first.jsonValue());
    const entry = await tab.evaluate(
      () => performance.getEntriesByType("navigation")[0].domInteractive,
    );
    times.interactive.push(entry);
    await browser.close();
  }
  close();
  return {
    story: {
      interactive_ms: round(minimum(times.interactive)),
      first_word_ms: round(minimum(times.first_result)),
    },
  };
}

const PARTS = { lower, grow, infer, story, sizes, plans, page };

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { json: { type: "boolean" } },
});
const unknown = positionals.filter((name) => !(name in PARTS));
if (unknown.length) {
  console.error(`no part '${unknown}'; there are: ${Object.keys(PARTS).join(", ")}`);
  process.exit(2);
}
prepare();
const results = { node: process.version };
for (const name of positionals.length ? positionals : Object.keys(PARTS)) {
  results[name] = await PARTS[name]();
  if (values.json) continue;
  console.log(`\n${name}`);
  console.table(results[name]);
}
if (values.json) console.log(JSON.stringify(results, null, 2));
