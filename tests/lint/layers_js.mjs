// Imports between the rooms of wasm/js and web/src: the tables below are the architecture. Imports of
// types count like any other. These fail:
// - an import that no row allows;
// - a file without a row, and a row or an entry of one that names nothing;
// - rows that form a circle;
// - files that import each other in a circle, except for those listed;
// - a listed circle that is not there any more.
import { posix } from "node:path";
import { codeOf, listFiles, readText, reporter } from "./tree.mjs";

// A row is a folder, or one file without its suffix; the longest that fits a file is its row. It lists
// the rows that its files may import, besides their own.
const ground = ["base", "types", "border"];
const sources = ["source", ...ground];
const compiled = ["call", "module", "sink", "tensor", ...sources];
const command = ["cli/usage.ts", "cli/shell", "cli/print", "cli/files", "cli/engine.ts", ...ground];
const library = {
  border: [],
  types: ["border"],
  base: ["types", "border"],
  tensor: ground,
  source: ground,
  sink: sources,
  call: ["sink", "tensor", ...ground],
  backend: ["tensor", ...ground],
  "locate.ts": ["base"],
  "builds.ts": ground,
  "flavour.ts": ground,
  "addresses.ts": ["builds.ts", "locate.ts", ...ground],
  threads: ["locate.ts", ...ground],
  "loader.ts": ["builds.ts", "flavour.ts", "locate.ts", "threads", ...sources],
  "spawn.ts": ["builds.ts", "locate.ts", ...ground],
  "engine_script.ts": ["builds.ts", "spawn.ts"],
  "run_script.ts": ["builds.ts", "spawn.ts"],
  "run_addresses.ts": ["builds.ts", "locate.ts", ...ground],
  module: ["backend", "flavour.ts", "loader.ts", "threads", ...sources],
  program: ["call", "module", "tensor", "sink", ...sources],
  record: ["program", ...compiled],
  pass: ["call", "tensor", "module", ...sources],
  lower: ["pass", "program", "record", ...compiled],
  recipe: ["lower", "pass", "record", "program", ...compiled],
  "engine.ts": [
    "builds.ts",
    "loader.ts",
    "recipe",
    "lower",
    "pass",
    "record",
    "program",
    ...compiled,
  ],
  "runtime.ts": ["builds.ts", "loader.ts", "program", ...compiled],
  worker: [
    ...[
      "addresses.ts",
      "engine_script.ts",
      "run_script.ts",
      "builds.ts",
      "flavour.ts",
      "loader.ts",
      "spawn.ts",
    ],
    ...["threads", "call", "sink", ...sources],
  ],
  "create_runtime.ts": ["run_addresses.ts", "runtime.ts", ...ground],
  "run_library.ts": ["tensor", ...sources],
  "run.ts": ["create_runtime.ts", "worker", "run_library.ts"],
  "run_edge.ts": ["runtime.ts", "worker", "run_library.ts", ...ground],
  "run-worker.ts": ["create_runtime.ts", "worker"],
  "create.ts": ["addresses.ts", "engine.ts", ...ground],
  "library.ts": ["run_library.ts", "worker", "recipe", "lower", "pass", "tensor", ...sources],
  "index.ts": ["create.ts", "library.ts"],
  "edge.ts": ["engine.ts", "library.ts", ...ground],
  llm: ["tensor", ...ground],
  "llm.ts": ["llm"],
  "worker.ts": ["create.ts", "worker", "call", ...ground],
  "require.cts": ["index.ts"],
  "cli/usage.ts": [],
  "cli/engine.ts": ["create.ts", ...ground],
  "cli/print": ["cli/usage.ts", ...ground],
  "cli/shell": ["source", "cli/usage.ts", "cli/print", "call", ...ground],
  "cli/files": ["cli/usage.ts", "cli/print", "tensor", "sink", ...ground],
  "cli/inspect": command,
  "cli/lower": ["call", "sink", ...command],
  "cli/export": ["cli/lower", "recipe", "source", ...command],
  "cli/llm": ["llm", ...command],
  "cli/run": ["cli/llm", "program", "record", "call", "tensor", "source", ...command],
  "cli/studio": command,
  "cli/build": ["create_runtime.ts", "flavour.ts", "cli/studio", ...command],
  cli: [
    ...[
      "cli/inspect",
      "cli/lower",
      "cli/export",
      "cli/llm",
      "cli/run",
      "cli/build",
      "cli/studio",
      "lower",
    ],
    ...command,
  ],
  "cli.ts": ["cli", ...command],
};
// The page imports the library by "@sconce/", of the command nothing but the reader of .npy files.
const shown = ["state.ts", "looks.ts", "derived.ts"];
const words = ["ui/format.ts", "ui/families.ts", "ui/numbers.ts", "ui/syntax.ts"];
const page = {
  graph: [],
  "graph.worker.ts": ["graph"],
  "looks.ts": [],
  "speech.ts": [],
  "state.ts": ["looks.ts", "graph", "speech.ts"],
  "derived.ts": ["state.ts", "looks.ts"],
  "changes.ts": [],
  "ui/format.ts": [],
  "ui/families.ts": ["state.ts"],
  "ui/numbers.ts": ["state.ts", "ui/format.ts"],
  "ui/syntax.ts": [],
  "quantized.ts": ["state.ts"],
  "talk.ts": ["state.ts"],
  "words.ts": ["looks.ts", "state.ts", "ui/format.ts"],
  "delegates.ts": ["derived.ts", "state.ts", "ui/syntax.ts"],
  "subtitles.ts": ["speech.ts"],
  "profile.ts": ["derived.ts", "state.ts", "ui/families.ts"],
  "graph.ts": ["delegates.ts", "graph", "ui/format.ts", ...shown],
  "arrays.worker.ts": ["state.ts", "ui/numbers.ts"],
  actions: [
    ...["arrays.worker.ts", "graph.ts", "graph", "profile.ts", "talk.ts", "words.ts"],
    ...["speech.ts", "subtitles.ts"],
    ...words,
    ...shown,
  ],
  "actions.ts": ["actions"],
  ui: ["actions.ts", "delegates.ts", "graph", ...words, ...shown],
  views: [
    ...["actions.ts", "actions", "ui", "words.ts", "changes.ts", "delegates.ts", "profile.ts"],
    ...["quantized.ts", "speech.ts", "subtitles.ts", "talk.ts"],
    ...["graph.ts", "graph", ...words, ...shown],
  ],
  "main.tsx": ["actions.ts", "state.ts", "views"],
};
const trees = [
  { root: "wasm/js", rows: library },
  { root: "web/src", rows: page },
];
const fromPage = /^(?!cli\/)|^cli\/files\/npy\.ts$/;
// Files that import each other in a circle, and why they may.
const circles = [
  // A manager gives the record of its program, and a record takes managers: interfaces alone.
  ["wasm/js/types/managers.ts", "wasm/js/types/record.ts"],
  // Lowering loads what quantization needs when it is first asked for.
  [
    "web/src/actions/calibration.ts",
    "web/src/actions/compared.ts",
    "web/src/actions/face.ts",
    "web/src/actions/lower.ts",
    "web/src/actions/quantize.ts",
    "web/src/actions/recipes.ts",
  ],
];

const { error, finish } = reporter("layers of JavaScript");
const table = "tests/lint/layers_js.mjs";
const names = listFiles().filter((name) => /\.c?tsx?$/.test(name) && !name.endsWith(".d.ts"));
const isMade = (path) => /\/border\/\w+\.gen\.ts$/.test(path);

// The paths that a file imports, with the lines.
function importsOf(text) {
  const code = codeOf(text);
  const pattern = /(?:\bfrom|\bimport)\s*\(?\s*"([^"\n]+)"/g;
  return [...code.matchAll(pattern)].map(({ 1: path, index }) => ({
    path,
    line: code.slice(0, index).split("\n").length,
  }));
}

// The row that a file has: itself, or the longest of the folders that it lies in.
function rowOf(rows, path) {
  if (Object.hasOwn(rows, path)) return path;
  for (let folder = posix.dirname(path); folder !== "."; folder = posix.dirname(folder))
    if (Object.hasOwn(rows, folder)) return folder;
  return undefined;
}

const arrows = new Map(); // file -> files
let roomArrows = 0;

function check({ root, rows }) {
  const files = names.filter((name) => name.startsWith(`${root}/`));
  const used = new Map(Object.keys(rows).map((row) => [row, new Set()]));
  const filled = new Set();
  for (const name of files) {
    const row = rowOf(rows, name.slice(root.length + 1));
    if (row === undefined) {
      error(name, 1, `has no row in ${table}`);
      continue;
    }
    filled.add(row);
    const own = [];
    for (const { path, line } of importsOf(readText(name))) {
      if (path.startsWith("@sconce/")) {
        const taken = path.slice("@sconce/".length).replace(/\.js$/, ".ts");
        if (!fromPage.test(taken)) error(name, line, `may not import ${path}`);
        continue;
      }
      if (!path.startsWith(".")) continue;
      const stem = posix.join(posix.dirname(name), path).replace(/\.js$/, "");
      const target = [".ts", ".tsx", ""].map((end) => stem + end).find((is) => names.includes(is));
      const found = target ?? (isMade(`${stem}.ts`) ? `${stem}.ts` : undefined);
      if (!found?.startsWith(`${root}/`)) continue;
      if (target) own.push(target);
      const theirs = rowOf(rows, found.slice(root.length + 1));
      if (theirs === undefined || theirs === row) continue;
      used.get(row).add(theirs);
      if (!rows[row].includes(theirs))
        error(name, line, `${row} may not import ${theirs}: ${path}`);
    }
    arrows.set(name, own);
  }
  for (const [row, list] of Object.entries(rows)) {
    if (!filled.has(row)) error(table, 1, `row ${row} of ${root} names nothing`);
    for (const entry of new Set(list))
      if (!Object.hasOwn(rows, entry)) error(table, 1, `${entry}, in row ${row}, is no row`);
    roomArrows += used.get(row).size;
  }
  for (const circle of circlesIn(new Map(Object.entries(rows))))
    error(table, 1, `rows form a circle: ${circle.join(", ")}`);
  return files.length;
}

// The groups of two and more that reach each other, each sorted.
function circlesIn(graph) {
  const reached = (from) => {
    const seen = new Set();
    const waiting = [...(graph.get(from) ?? [])];
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      if (seen.has(next)) continue;
      seen.add(next);
      waiting.push(...(graph.get(next) ?? []));
    }
    return seen;
  };
  const reach = new Map([...graph.keys()].map((name) => [name, reached(name)]));
  const found = new Map();
  for (const [name, all] of reach) {
    const group = [...all].filter((other) => reach.get(other)?.has(name)).sort();
    if (group.length) found.set(group.join(), group);
  }
  return [...found.values()];
}

let count = 0;
for (const tree of trees) count += check(tree);
const listed = new Set(circles.map((circle) => circle.join()));
for (const circle of circlesIn(arrows))
  if (!listed.delete(circle.join()))
    error(circle[0], 1, `these import each other in a circle: ${circle.join(", ")}`);
for (const circle of listed) error(table, 1, `there is no such circle any more: ${circle}`);
finish(`${count} files, ${roomArrows} arrows between rooms`);
