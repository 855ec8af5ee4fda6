// The pages of the documentation: their links lead somewhere, also from the installed package. The page
// of the library names every value and shows every function, the reference is that of the declarations,
// and each code of an error has its entry.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { join, posix } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import * as library from "sconce";

const root = fileURLToPath(new URL("../../../..", import.meta.url));
const read = (path: string): string => readFileSync(join(root, path), "utf8");
const [packed] = JSON.parse(
  execFileSync("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], {
    cwd: root,
    encoding: "utf8",
    stdio: "pipe",
  }),
) as [{ files: { path: string }[] }];
const shipped = new Set(packed.files.map(({ path }) => path));
const pages = [...shipped].filter((path) => path.endsWith(".md"));

/** The page without its blocks of code and its code in lines. */
const prose = (page: string): string =>
  read(page)
    .replace(/^```[^]*?^```$/gm, "")
    .replace(/`[^`\n]*`/g, "");

/** The names that GitHub and npm give to the headings of a page. */
function anchorsOf(page: string): Set<string> {
  const text = read(page).replace(/^```[^]*?^```$/gm, "");
  return new Set(
    [...text.matchAll(/^#+ (.+)$/gm)].map(([, title]) =>
      title!
        .toLowerCase()
        .replace(/[^\p{L}\p{N}\s_-]/gu, "")
        .trim()
        .replace(/ /g, "-"),
    ),
  );
}

test("every link of a page leads to a file of the package, or to a heading", () => {
  assert.ok(pages.includes("README.md") && pages.length > 8, `${pages}`);
  let count = 0;
  for (const page of pages)
    for (const [, link] of prose(page).matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^https?:/.test(link!)) continue;
      const [path, anchor] = link!.split("#") as [string, string?];
      const target = path === "" ? page : posix.join(posix.dirname(page), path);
      assert.ok(shipped.has(target), `${page} links to ${link}`);
      if (anchor !== undefined) assert.ok(anchorsOf(target).has(anchor), `${page}: ${link}`);
      count++;
    }
  assert.ok(count > 30, `${count} links`);
});

test("the README leads to every page of docs/", () => {
  const readme = read("README.md");
  for (const page of pages.filter((path) => path.startsWith("docs/")))
    assert.ok(readme.includes(`](${page})`), `a link to ${page}`);
});

test("docs/javascript.md names every value of the library, and types that there are", () => {
  const types = readdirSync(join(root, "dist"), { encoding: "utf8", recursive: true })
    .filter((name) => name.endsWith(".d.ts"))
    .map((name) => read(`dist/${name}`))
    .join("\n");
  const rows = read("docs/javascript.md").match(/^\| `.*?\|/gm)!;
  const named = rows.flatMap((row) => [...row.matchAll(/`(\w+)`/g)].map((match) => match[1]!));
  const isType = (name: string): boolean =>
    new RegExp(`export (declare )?(interface|type|class) ${name}\\b`).test(types);
  assert.deepEqual(
    Object.keys(library).filter((name) => !named.includes(name)),
    [],
    "docs/javascript.md needs rows for these",
  );
  assert.deepEqual(
    named.filter((name) => !Object.hasOwn(library, name) && !isType(name)),
    [],
    "docs/javascript.md names these, which are not there",
  );
});

test("docs/javascript.md shows every function and class in use", () => {
  const blocks = [...read("docs/javascript.md").matchAll(/^```js\n([^]*?)^```$/gm)];
  const code = blocks.map(([, text]) => text!.replace(/^import .*$/gm, "")).join("\n");
  const isShown = (name: string): boolean =>
    new RegExp(`\\b${name}(\\.\\w+)*\\(|instanceof ${name}\\b|\\b${name}\\.\\w+`).test(code);
  assert.deepEqual(
    Object.keys(library).filter((name) => !isShown(name)),
    [],
    "docs/javascript.md shows no use of these",
  );
});

test("docs/api.md is made of the declarations as they are", () => {
  const script = join(root, "tools/docs_api.mjs");
  const { status, stderr } = spawnSync(process.execPath, [script, "--check"], { encoding: "utf8" });
  assert.equal(status, 0, stderr);
});

test("docs/troubleshooting.md has an entry for every code, and for nothing else", () => {
  const rows = read("src/base/status.def").matchAll(/^STATUS\(SC_ERR_\w+, "(\w+)"/gm);
  const codes = [...rows].map(([, code]) => code!);
  // Those of the library itself, and that of the command.
  codes.push("busy", "disposed", "panic", "usage");
  const entries = read("docs/troubleshooting.md").matchAll(/^### (\w+)\n\n(?=\w)/gm);
  assert.deepEqual([...entries].map(([, code]) => code!).sort(), codes.sort());
});
