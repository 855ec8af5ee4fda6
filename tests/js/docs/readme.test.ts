// The commands that the README and the pages of docs/ tell people to type, typed, each page in a
// folder of its own. `npm start` and `npm test` are called by continuous integration itself.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../../..", import.meta.url));
const pages = ["README.md", ...readdirSync(join(root, "docs")).map((name) => `docs/${name}`)]
  // command_line_page.test.ts runs the examples of the command's own page.
  .filter((name) => name.endsWith(".md") && name !== "docs/command-line.md")
  .map((name) => ({ name, text: readFileSync(join(root, name), "utf8") }));

/** Files that pages take for granted: the reader's models, as files of the checkout. */
const MODELS: Record<string, string> = {
  "model.pt2": "models/face-rfb320.pt2",
  "lm.pt2": "tests/models/tinyformer.pt2",
  "scaled.pt2": "tests/data/own/scaled.pt2",
  "prefill.pt2": "models/stories260k.prefill.pt2",
  "decode.pt2": "models/stories260k.decode.pt2",
};

/** A picture of the size that model.pt2 takes, as a .npy. */
function picture(seed: number): Uint8Array {
  const shape = [1, 3, 240, 320];
  const about = `{'descr': '<f4', 'fortran_order': False, 'shape': (${shape.join(", ")}), }`;
  const head = Buffer.from(`\x93NUMPY\x01\x00\x00\x00${about.padEnd(117)}\n`, "latin1");
  head.writeUInt16LE(118, 8);
  const elements = shape.reduce((product, size) => product * size, 1);
  const data = Float32Array.from({ length: elements }, (_, i) => Math.sin(seed + i / 100));
  return Buffer.concat([head, Buffer.from(data.buffer)]);
}

/** The reader of this page begins with an empty folder. */
const FIRST_STEPS = "docs/getting-started.md";

/** A folder like that of a reader who has installed the package. */
function prepare(name: string, text: string): string {
  const folder = mkdtempSync(join(tmpdir(), "sconce-readme-"));
  if (name !== FIRST_STEPS) {
    for (const [file, path] of Object.entries(MODELS))
      symlinkSync(join(root, path), join(folder, file));
    for (const seed of [1, 2]) writeFileSync(join(folder, `image${seed}.npy`), picture(seed));
  }
  mkdirSync(join(folder, "node_modules"));
  symlinkSync(root, join(folder, "node_modules/sconce"));
  // A block of JSON or JavaScript is the file that the line above it names.
  const files = /`([\w.]+\.(?:json|mjs))`:\n\n```(?:json|js)\n([^]*?)^```$/gm;
  for (const [, file, contents] of text.matchAll(files))
    writeFileSync(join(folder, file!), contents!);
  return folder;
}

/** The commands of the shell blocks, continued lines joined, comments dropped. */
function commandsOf(text: string): string[] {
  return [...text.matchAll(/^```sh\n([\s\S]*?)^```$/gm)]
    .map((match) => match[1]!)
    .join("")
    .replaceAll("\\\n", " ")
    .split("\n")
    .map((line) => line.replace(/\s+#.*$/, "").trim())
    .filter((line) => line !== "");
}

// studio.test.ts serves the pages, and chat.test.ts talks; the others are for continuous integration, or for other tests.
const elsewhere =
  /^(npm start|npm test|npm init -y|npm install sconce|npx sconce (studio|docs|build-runtime .*|chat .*)|node examples\/\S+\.mjs.*)$/;

/** Commands that are run as they are: those of Sconce, and those of the first steps. */
const known = /^(npx sconce |cp node_modules\/sconce\/\S+ \S+$|node \w+\.mjs$)/;

for (const { name, text } of pages) {
  describe(name, () => {
    let folder = "";
    before(() => (folder = prepare(name, text)));
    after(() => rmSync(folder, { recursive: true, force: true }));
    for (const command of commandsOf(text).filter((line) => !elsewhere.test(line)))
      test(command, () => {
        assert.match(command, known, "nobody runs this command");
        const cli = `${process.execPath} ${join(root, "dist/cli.js")}`;
        const line = command.replace("npx sconce", cli).replace(/^node /, `${process.execPath} `);
        const printed = execFileSync("sh", ["-c", line], { cwd: folder, encoding: "utf8" });
        if (!command.startsWith("cp ")) assert.notEqual(printed, "");
      });
  });
}

test("the pages have the commands that readers begin with", () => {
  const all = pages.map(({ name, text }) => [name, commandsOf(text)] as const);
  const readme = new Map(all).get("README.md")!;
  for (const command of ["npm install sconce", "npm start", "npm test", "npx sconce studio"])
    assert.ok(readme.includes(command), command);
  assert.ok(all.flatMap(([, commands]) => commands).length > 20);
});

test("the scripts that pages tell people to run exist", () => {
  for (const command of pages.flatMap(({ text }) => commandsOf(text))) {
    const [, script] = /^node (examples\/\S+\.mjs)/.exec(command) ?? [];
    if (script !== undefined) assert.ok(existsSync(join(root, script)), script);
  }
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
