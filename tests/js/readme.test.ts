// What the README tells people to type, typed. `npm start` and `npm test` are what continuous
// integration itself calls; the rest is here.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const readme = readFileSync(join(root, "README.md"), "utf8");
let folder = "";
before(() => {
  folder = mkdtempSync(join(tmpdir(), "sconce-readme-"));
  symlinkSync(join(root, "models"), join(folder, "models"));
  writeFileSync(join(folder, "calls.json"), /^```json\n([^`]+)^```$/m.exec(readme)![1]!);
});
after(() => rmSync(folder, { recursive: true, force: true }));

/** The commands of the shell blocks, continued lines joined, comments dropped. */
function commands(): string[] {
  const blocks = [...readme.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map((match) => match[1]!);
  return blocks
    .join("")
    .replaceAll("\\\n", " ")
    .split("\n")
    .map((line) => line.replace(/\s+#.*$/, "").trim())
    .filter((line) => line !== "");
}

test("every command of the README is one that somebody runs", () => {
  const known = /^(npm start|npm test|npx sconce )/;
  assert.deepEqual(
    commands().filter((command) => !known.test(command)),
    [],
  );
});

// The page is served until somebody stops it; studio.test.ts does.
const served = "npx sconce studio";
assert.ok(commands().includes(served));
for (const command of commands().filter((line) => /^npx sconce /.test(line) && line !== served)) {
  test(command, () => {
    const cli = `${process.execPath} ${join(root, "dist/cli.js")}`;
    const text = execFileSync("sh", ["-c", command.replace("npx sconce", cli)], {
      cwd: folder,
      encoding: "utf8",
    });
    assert.notEqual(text, "");
  });
}

test("the examples that the README names exist", () => {
  const names = [...readme.matchAll(/\]\((examples\/[\w.]+)\)/g)].map((match) => match[1]!);
  assert.ok(names.length >= 3);
  for (const name of names) assert.ok(readFileSync(join(root, name), "utf8").length > 0, name);
});

test("npm start refuses a port that is none before it does anything", () => {
  for (const args of [
    ["--port", "abc"],
    ["--port", "70000"],
    ["--prot", "1"],
  ]) {
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [join(root, "tools/start.mjs"), ...args],
      { encoding: "utf8", timeout: 10_000 },
    );
    assert.deepEqual([status, stdout], [1, ""]);
    assert.match(stderr, /--port takes a number from 0 to 65535, not '\w+'|--prot/);
  }
});
