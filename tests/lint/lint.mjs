// Text rules for the whole tree and the C format. With --fix (npm run format) the format is applied
// instead of checked, to the named files or to all. With --lower the counts of words.json follow.
import { execFileSync, spawnSync } from "node:child_process";
import { join } from "node:path";
import { recorders, unordered } from "./order.mjs";
import { checkPrefixes } from "./prefixes.mjs";
import { listFiles, readBytes, readText, reporter, root } from "./tree.mjs";
import { checkWords } from "./words.mjs";

const lines_max = 1000;
const lines_review = 600;
const function_lines_review = 70;
const columns_max = 100;

const { error, warn, finish } = reporter("lint");

const code =
  /\.(c|h|inc|def|mjs|js|ts|tsx|css|sh|cmake|fbs|py)$|(^|\/)(CMakeLists\.txt|run|emtool)$/;
// Data of the tests and files that come from elsewhere or from a tool are not ours to lay out.
const data =
  /^tests\/(data|models|import|emit|kernels\/.*\.case|fuzz\/corpus)(\/|$)|^models\/|^package-lock\.json$/;
// Tables are laid out in columns and may be as wide as their widest row; Prettier breaks lines where
// that helps and leaves the rest.
const wide = /\.(txt|def|fbs|json|md|html|svg|case|ir|mjs|js|ts|tsx|css)$/;
const pretty = /\.(mjs|js|ts|tsx|css)$/;

// Files that editors and merges leave behind.
const leftover = /\.(orig|rej|bak)$|~$/;

// Patterns are put together here so that this file does not match itself.
const marks = ["TO" + "DO", "FIX" + "ME", "XX" + "X"].join("|");
const owned = new RegExp(`\\b(${marks})\\b(?!\\(\\w+\\))`);
const machine_path = new RegExp(`(^|[\\s"'=(:\`])/(${["work", "farm"].join("|")})/`);
const registry = new RegExp(
  [
    "registry\\.npm" + "js",
    "npm" + "mirror",
    "pypi" + "\\.org",
    "python" + "hosted",
    "deb\\.debian" + "\\.org",
    "snapshot\\.debian" + "\\.org",
    "deb\\.node" + "source",
  ].join("|"),
);
// Invisible characters that change what is read: controls, bidirectional overrides, zero widths.
const invisible =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/;

// Memory comes from arenas; these files are where arenas and handles get theirs.
const allocators = ["src/base/arena.c"];
const allocation = /\b(malloc|calloc|realloc|aligned_alloc|strdup|free)\s*\(/;

function checkLine(name, number, line) {
  if (/\t/.test(line)) error(name, number, "tab");
  if (/\s$/.test(line)) error(name, number, "white space at the end");
  if (invisible.test(line)) error(name, number, "invisible character");
  if (owned.test(line)) error(name, number, "a note to do something later, without an owner");
  if (machine_path.test(line)) error(name, number, "path of one machine");
  if (/^\/\/ -+$/.test(line)) error(name, number, "a divider broken off its title");
  if (code.test(name) && /^\s*\/\/ --- (?!\S*[_.:])[a-z]/.test(line))
    error(name, number, "a heading begins with a capital letter");
  if (registry.test(line)) error(name, number, "host of a package registry");
  if (code.test(name) && !wide.test(name) && [...line].length > columns_max) {
    error(name, number, `more than ${columns_max} columns`);
  }
  if (/^src\/.*\.(c|h|inc)$/.test(name) && !allocators.includes(name)) {
    if (allocation.test(line.replace(/\/\/.*/, ""))) error(name, number, "allocates by itself");
  }
  if (/^src\/kernels\/(?!call\.c)/.test(name) && /\bsc_fail\(/.test(line)) {
    error(name, number, "fails without its operands: sc_call_fail");
  }
}

function checkText(name, text) {
  const lines = text.split("\n");
  if (lines.pop() !== "") error(name, lines.length + 1, "no newline at the end");
  lines.forEach((line, index) => checkLine(name, index + 1, line));
  if (!code.test(name)) return;
  if (lines.length > lines_max) error(name, 1, `${lines.length} lines, more than ${lines_max}`);
  else if (lines.length > lines_review) warn(name, 1, `${lines.length} lines, time to split`);
  if (!/^(#|\/\/|\/\*|""")/.test(lines[0] ?? "")) error(name, 1, "does not begin with what it is");
  if (name.endsWith(".c")) checkFunctions(name, lines);
}

// clang-format puts a function's first line and its closing brace at the left edge.
function checkFunctions(name, lines) {
  let start = -1;
  lines.forEach((line, index) => {
    if (/^[a-z].*\)? \{$/i.test(line) || (/^ +.*\) \{$/.test(line) && start < 0)) start = index;
    if (line !== "}" || start < 0) return;
    const length = index - start + 1;
    if (length > function_lines_review) warn(name, start + 1, `function of ${length} lines`);
    start = -1;
  });
}

// The version whose output the tree follows; others differ in details.
const clang_format_major = 14;

function clangFormat(names, fix) {
  const version = spawnSync("clang-format", ["--version"], { encoding: "utf8" });
  const major = Number(/version (\d+)/.exec(version.stdout ?? "")?.[1] ?? 0);
  if (major !== clang_format_major) {
    const found = major ? `version ${major}` : "none";
    const need = `needs clang-format ${clang_format_major}, found ${found}`;
    warn(".clang-format", 1, `C format NOT checked: ${need}`);
    return;
  }
  const full = names.map((name) => join(root, name));
  if (fix) {
    if (full.length) execFileSync("clang-format", ["-i", ...full]);
    return;
  }
  for (let at = 0; at < full.length; at += 50) {
    const args = ["--dry-run", "--ferror-limit=1", ...full.slice(at, at + 50)];
    const { stderr } = spawnSync("clang-format", args, { encoding: "utf8", maxBuffer: 1 << 28 });
    for (const [, name, line] of stderr.matchAll(/^(.+?):(\d+):\d+: warning: /gm)) {
      error(name.slice(root.length + 1), line, "not formatted; npm run format");
    }
  }
}

function prettier(names, fix) {
  if (!names.length) return;
  const command = ["--no-install", "prettier", fix ? "--write" : "--list-different", ...names];
  const options = { cwd: root, encoding: "utf8", maxBuffer: 1 << 28 };
  const { status, stdout, stderr } = spawnSync("npx", command, options);
  if (fix) return;
  const different = stdout.split("\n").filter((name) => pretty.test(name));
  for (const name of different) error(name, 1, "not formatted; npm run format");
  if (status !== 0 && !different.length)
    error(".prettierrc.json", 1, stderr.trim() || "no Prettier");
}

const args = process.argv.slice(2);
const fix = args.includes("--fix");
const lowers = args.includes("--lower");
const named = args.filter((arg) => !arg.startsWith("--"));
const files = named.length ? named : listFiles();
// Rows of operator tables are laid out by hand, in columns.
clangFormat(
  files.filter((name) => /^(src|wasm|tests)\/.*\.[ch]$/.test(name)),
  fix,
);

prettier(
  files.filter((name) => pretty.test(name) && !data.test(name)),
  fix,
);

if (!fix) {
  const tracing = listFiles().filter((name) => /^src\/(trace|passes|quant)\/.*\.[ch]$/.test(name));
  for (const [name, recording] of recorders(tracing)) {
    if (!files.includes(name)) continue;
    for (const line of unordered(readText(name), recording))
      error(name, line, "two arguments record nodes, in no order: give each a local");
  }
}

let total = 0;
for (const name of files) {
  if (leftover.test(name)) error(name, 1, "left behind by an editor or a merge");
  const bytes = readBytes(name);
  if (bytes.includes(0) || data.test(name)) continue;
  if (!fix) checkText(name, readText(name));
  if (/^src\/.*\.(c|h|inc|def)$/.test(name)) total += readText(name).split("\n").length - 1;
}
if (!fix) checkPrefixes(files, readText, { error, warn });
if (!fix) checkWords(files, readText, { error, warn }, lowers);
finish(`${files.length} files, ${total} lines of C in src`);
