// The files of the checkout, for the checks: what git tracks plus what it would track.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = join(dirname(fileURLToPath(import.meta.url)), "../..");

// Paths relative to the root, sorted.
export function listFiles() {
  const args = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
  const out = execFileSync("git", args, { cwd: root, encoding: "utf8", maxBuffer: 1 << 28 });
  const names = new Set(out.split("\0").filter((name) => name && existsSync(join(root, name))));
  return [...names].sort();
}

export const readBytes = (name) => readFileSync(join(root, name));
export const readText = (name) => readFileSync(join(root, name), "utf8");

// The module of tests/lint that a text says, as if it lay in this folder.
export function importText(text) {
  const here = new URL("./", import.meta.url).href;
  const placed = text.replaceAll(/\bfrom "\.\//g, `from "${here}`);
  return import(`data:text/javascript,${encodeURIComponent(placed)}`);
}

// Collects what the checks find; the process fails if there was any error.
export function reporter(title) {
  const errors = [];
  const warnings = [];
  return {
    error: (name, line, text) => errors.push(`${name}:${line}: ${text}`),
    warn: (name, line, text) => warnings.push(`${name}:${line}: warning: ${text}`),
    finish(checked) {
      for (const text of [...warnings, ...errors]) console.log(text);
      console.log(`${title}: ${checked}, ${warnings.length} warnings, ${errors.length} errors`);
      if (errors.length) process.exitCode = 1;
    },
  };
}

const tokens = /"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|\/\/.*|\/\*[^]*?\*\//g;

// C without its comments, line for line; without what strings say, too, if that is asked for.
export function codeOf(text, hasStrings = true) {
  const blank = (token) => token.replace(/[^\n]/g, " ");
  return text.replace(tokens, (token) =>
    hasStrings && !token.startsWith("/") ? token : blank(token),
  );
}
