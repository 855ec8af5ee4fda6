// docs/command-line.md: its flags are those of the command, and its commands do what they say.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { cli, folder, sconce } from "../setup/command.js";
import { modelPath, samplePath } from "../setup/reference.js";

const root = fileURLToPath(new URL("../../../..", import.meta.url));
const page = readFileSync(join(root, "docs/command-line.md"), "utf8");

test("the page has every flag of every command, with its meaning", () => {
  const script = join(root, "tools/docs_flags.mjs");
  const { status, stderr } = spawnSync(process.execPath, [script, "--check"], { encoding: "utf8" });
  assert.equal(status, 0, stderr);
});

test("the page tells the kind of every document", () => {
  const kinds = [...page.matchAll(/^\| `[\w -]+` \| `(\w+)` \|/gm)].map(([, kind]) => kind!);
  for (const kind of [
    "lower",
    "export",
    "recipes",
    "run",
    "verify",
    "tokens",
    "chat",
    "bundle",
    "runtime",
    "pack",
    "studio",
    "docs",
  ])
    assert.ok(kinds.includes(kind), kind);
});

const commands = [...page.matchAll(/^```sh\n([^]*?)^```$/gm)].flatMap((block) =>
  block[1]!.split("\n").filter((line) => line !== ""),
);

before(() => {
  copyFileSync(modelPath("mlp.pt2"), join(folder, "model.pt2"));
  mkdirSync(join(folder, "calls"));
  sconce("lower", modelPath("mlp.pt2"), "-o", "first.pte");
  // An array of the right shape: what writes arrays here is the command itself.
  writeFileSync(join(folder, "calls.json"), JSON.stringify([{ inputs: ["random:1"] }]));
  const story = ["prefill", "decode"].flatMap((name) => [
    ...["--method", `${name}=${samplePath(`stories260k.${name}.pt2`)}`],
  ]);
  sconce(
    "lower",
    ...story,
    "--share-state",
    "--constant",
    "get_max_seq_len=256",
    "-o",
    "story.pte",
  );
  copyFileSync(samplePath("stories260k.tokenizer.bin"), join(folder, "tokenizer.bin"));
  const header = "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 16), }".padEnd(117) + "\n";
  const head = Buffer.from("\x93NUMPY\x01\x00\x76\x00", "latin1");
  const array = Buffer.concat([head, Buffer.from(header), Buffer.alloc(256, 1)]);
  for (const name of ["x1.npy", "x2.npy"]) writeFileSync(join(folder, "calls", name), array);
});

test("the page has an example of every command", () => {
  for (const name of [
    "lower",
    "export",
    "run",
    "chat",
    "inspect",
    "bundle",
    "build-runtime",
    "pack",
    "operators",
    "studio",
    "docs",
  ])
    assert.ok(
      commands.some((line) => line.includes(`npx sconce ${name}`)),
      name,
    );
});

// Pages are served until somebody stops it; studio.test.ts does. Modules are built by
// build_runtime.test.ts, and chat.test.ts talks.
for (const command of commands.filter(
  (line) => !/^npx sconce (studio$|docs$|build-runtime |chat )/.test(line),
))
  test(command, () => {
    const line = command.replaceAll("npx sconce", `"${process.execPath}" "${cli}"`);
    const options = { cwd: folder, encoding: "utf8", timeout: 20_000 } as const;
    const { status, stdout, stderr } = spawnSync("bash", ["-o", "pipefail", "-c", line], options);
    assert.equal(status, 0, stderr);
    assert.notEqual(stdout + stderr, "");
  });

test("the error that the page shows is the one that there is", () => {
  const shown = JSON.parse(/^```json\n([^]*?)^```$/m.exec(page)![1]!) as { error: object };
  sconce("lower", "model.pt2", "-o", "error.pte");
  const reported = JSON.parse(sconce("run", "error.pte", "--json").stdout) as typeof shown;
  assert.deepEqual(reported.error, {
    ...shown.error,
    diagnostics: (reported.error as never)["diagnostics"],
  });
});
