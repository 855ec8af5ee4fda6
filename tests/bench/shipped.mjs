// The deliverables: files compared with the official exporter's, downloads, the page, and how all
// of it takes hostile files.
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { brotliCompressSync } from "node:zlib";
import { StepFailed, bin, chromium, inRoot, output, run } from "../../tools/steps.mjs";
import { minimum, round, some } from "./measure.mjs";
import { models, officialPython, prepareModels } from "./prepare.mjs";

/** Ours and the official exporter's, for every program; ours may not be larger. */
export function plans({ quick }) {
  if (!quick) prepareModels("mobilenet_v2.pt2", "lstm_160.pt2");
  const script = inRoot("tests/bench/plans.py");
  const rows = JSON.parse(
    output(officialPython(), ["-W", "ignore", script, models, ...(quick ? ["linear"] : [])]),
  );
  for (const [name, row] of Object.entries(rows)) {
    if (row.planned > row.planned_official || row.pte > row.pte_official) {
      throw new StepFailed(`${name} is larger than the official one: ${JSON.stringify(row)}`);
    }
  }
  return rows;
}

// --- Sizes ---------------------------------------------------------------------------------------

/** A module of the library and all that it imports, in the order they are met. */
function withImports(file, met = new Set()) {
  if (met.has(file)) return met;
  met.add(file);
  for (const [, name] of readFileSync(file, "utf8").matchAll(/from "(\.[^"]+)"/g)) {
    withImports(join(dirname(file), name), met);
  }
  return met;
}

function size(...files) {
  const parts = files.map((file) => readFileSync(file));
  const sum = (sizes) => sizes.reduce((a, b) => a + b, 0);
  return {
    files: files.length,
    raw: sum(parts.map((part) => part.length)),
    brotli: sum(parts.map((part) => brotliCompressSync(part).length)),
  };
}

export function sizes() {
  const dist = (...names) => inRoot("dist", ...names);
  const assets = readdirSync(dist("web/assets")).map((name) => dist("web/assets", name));
  const ofPage = (pattern) => assets.filter((name) => pattern.test(name));
  return {
    "sconce.wasm": size(dist("sconce.wasm")),
    "library (index.js and what it imports)": size(...withImports(dist("index.js"))),
    "worker.js and what it imports": size(...withImports(dist("worker.js"))),
    "page, scripts": size(...ofPage(/\.js$/)),
    "page, all but models": size(dist("web/index.html"), ...assets),
  };
}

// --- The page ------------------------------------------------------------------------------------

/** The place where a sample shows its result, and the text that is there once it does. */
const FIRST_RESULT = {
  story: { selector: ".story-text:not(.soft)", pattern: "\\S" },
  face: { selector: ".face-side [role=status]", pattern: "\\d face" },
};

/** In a fresh browser: from navigation to the first word, or to the first faces, lowered there. */
async function visit(executablePath, url, sample) {
  const { chromium: playwright } = await import("playwright-core");
  const args = ["--no-sandbox", "--disable-gpu", "--disable-quic"];
  const browser = await playwright.launch({ executablePath, args });
  try {
    const tab = await browser.newPage();
    await tab.goto(`${url}#${sample}`);
    const shows = ({ selector, pattern }) => {
      const text = document.querySelector(selector)?.textContent ?? "";
      return new RegExp(pattern).test(text) && performance.now();
    };
    const first = await tab.waitForFunction(shows, FIRST_RESULT[sample], { polling: "raf" });
    const interactive = () => performance.getEntriesByType("navigation")[0].domInteractive;
    return {
      first_result_ms: await first.jsonValue(),
      interactive_ms: await tab.evaluate(interactive),
    };
  } finally {
    await browser.close();
  }
}

export async function page({ quick }) {
  const executablePath = chromium();
  const { serve } = await import(inRoot("dist/cli/studio/serve.js"));
  const { url, close } = await serve(inRoot("dist/web"));
  const rows = {};
  try {
    for (const sample of Object.keys(some(quick, FIRST_RESULT, "face"))) {
      const visits = [];
      for (let i = 0; i < (quick ? 1 : 5); i++)
        visits.push(await visit(executablePath, url, sample));
      const least = (key) => round(minimum(visits.map((v) => v[key])));
      rows[sample] = {
        interactive_ms: least("interactive_ms"),
        first_result_ms: least("first_result_ms"),
      };
    }
  } finally {
    close();
  }
  return rows;
}

// --- Hostile files -------------------------------------------------------------------------------

/** The tests of tests/js/engine/hostile.test.ts, each an account of many files, with 10,000 mutations. */
export function hostile({ quick }) {
  run(bin("tsc"), ["-p", "tests/tsconfig.json"], { stdio: ["ignore", 2, 2] });
  const file = "build/js-tests/js/engine/hostile.test.js";
  const env = { ...process.env, SCONCE_MUTATIONS: quick ? "10" : "10000" };
  const { stdout } = spawnSync("node", ["--test", "--test-reporter=tap", file], {
    cwd: inRoot(),
    env,
    encoding: "utf8",
    stdio: ["ignore", "pipe", 2],
  });
  const rows = {};
  for (const [, not, name, ms] of stdout.matchAll(
    /^ *(not )?ok \d+ - (.*)\n *---\n *duration_ms: ([\d.]+)/gm,
  )) {
    rows[name] = { passed: !not, seconds: round(ms / 1000) };
  }
  const failed = Object.keys(rows).filter((name) => !rows[name].passed);
  if (failed.length || !Object.keys(rows).length) {
    throw new StepFailed(`hostile files: ${failed.join("; ") || "no test ran"}\n${stdout}`);
  }
  return rows;
}
