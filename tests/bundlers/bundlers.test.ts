// The packed package in programs of others: installed into an empty folder, built with default
// settings, run in a browser or a script. SCONCE_SCOPE says which tools: quick (the default), rest or
// all. SCONCE_ONLY takes those whose title has a word in it.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { casesOf } from "./cases.js";
import { closeBrowser, outcomeOf, pack, root } from "./runner.js";

const all = casesOf(root);
const folder = mkdtempSync(join(tmpdir(), "sconce-packed-"));
const tarball = pack(folder);
after(async () => {
  await closeBrowser();
  rmSync(folder, { recursive: true, force: true });
});

function chosen(): typeof all {
  const { SCONCE_ONLY: only, SCONCE_SCOPE: scope = "quick" } = process.env;
  if (only) return all.filter(({ title }) => title.toLowerCase().includes(only.toLowerCase()));
  return all.filter(({ quick = false }) => scope === "all" || quick === (scope === "quick"));
}

for (const one of chosen()) {
  test(one.title, async () => {
    const { answers, routes, extra } = await outcomeOf(one, tarball);
    assert.deepEqual(answers, one.answers);
    assert.deepEqual(routes, one.routes ?? {});
    assert.deepEqual(extra, [], "files that nobody asked for");
  });
}

test("the docs list the tools and versions that are tried", () => {
  const docs = readFileSync(join(root, "docs/bundlers.md"), "utf8");
  const rows = docs.split("\n").filter((line) => line.startsWith("| "));
  for (const { tool, packages } of all) {
    const row = rows.find((line) => line.startsWith(`| ${tool} |`));
    assert.ok(row, `${tool} has a row`);
    const [version] = Object.values(packages);
    if (version) assert.ok(row.includes(version), `the row of ${tool} says ${version}`);
  }
});
