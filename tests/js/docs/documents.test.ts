// The JavaScript of the pages that need no network and no browser: every block runs, with the names
// that pages take for granted. package_types.test.ts compiles the blocks of all pages.
import assert from "node:assert/strict";
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { createClient, createEngine, tensor, type Client, type Engine, type Program } from "sconce";
import { openLanguageModel, type LanguageModel } from "sconce/llm";
import { samplePath } from "../setup/reference.js";

const root = fileURLToPath(new URL("../../../..", import.meta.url));
const home = process.cwd();
const folder = mkdtempSync(join(tmpdir(), "sconce-documents-"));

const PAGES = [
  "bundled-programs",
  "delegation",
  "javascript",
  "language-models",
  "lowering",
  "quantization",
  "training",
  "troubleshooting",
  "your-own-backend",
  "your-own-operator",
  "your-own-pass",
];
// Addresses of elsewhere, models that are too large, and values that are the reader's own.
const isElsewhere = (code: string): boolean =>
  /https:|compileSpecs|\{ url \}|openSpeechModel/.test(code);

let engine: Engine;
let client: Client;
let story: Program;
let lm: LanguageModel;

/** The story teller with its tokenizer, as story.pte and tokenizer.bin. */
async function makeStory(): Promise<void> {
  const file = (name: string): string => samplePath(`stories260k.${name}`);
  const methods = { prefill: file("prefill.pt2"), decode: file("decode.pt2") };
  const constantMethods = { get_max_seq_len: 256 };
  const lowered = engine.lower(methods, { constantMethods, shareMutableBuffers: true });
  writeFileSync("story.pte", lowered.buffer);
  lowered.dispose();
  copyFileSync(file("tokenizer.bin"), "tokenizer.bin");
  story = engine.load("story.pte");
  lm = await openLanguageModel({
    program: story,
    tokenizer: readFileSync("tokenizer.bin"),
    chatTemplate: (messages) => messages.map(({ content }) => content as string).join("\n"),
  });
}

before(async () => {
  mkdirSync(join(folder, "node_modules"));
  symlinkSync(root, join(folder, "node_modules/sconce"));
  for (const name of ["model", "prefill", "decode"])
    copyFileSync(join(root, "examples/mlp.pt2"), join(folder, `${name}.pt2`));
  copyFileSync(join(root, "tests/models/quantized_cnn.pt2"), join(folder, "quantized.pt2"));
  const training = join(root, "tests/training/classifier");
  copyFileSync(`${training}.pt2`, join(folder, "train.pt2"));
  copyFileSync(`${training}.infer.pt2`, join(folder, "infer.pt2"));
  copyFileSync(join(root, "tests/models/mlp_dyn.pt2"), join(folder, "dynamic.pt2"));
  copyFileSync(join(root, "tests/data/own/scaled.pt2"), join(folder, "scaled.pt2"));
  process.chdir(folder);
  engine = await createEngine();
  client = await createClient();
  await makeStory();
});
after(async () => {
  process.chdir(home);
  engine.dispose();
  await client.terminate();
  rmSync(folder, { recursive: true, force: true });
});

/** The names that the documents do not declare, as tests/types/context.d.ts has them. */
function context(page: string): Record<string, unknown> {
  const input = tensor(new Float32Array(64).fill(1), [4, 16]);
  const bytes = new Uint8Array(readFileSync("model.pt2"));
  const lowered = engine.lower("model.pt2", { partitioner: "xnnpack" });
  return {
    engine,
    client,
    lowered,
    program: page === "language-models" ? story : engine.load(lowered),
    lm,
    edge: engine.toEdge("model.pt2"),
    input,
    inputs: [input],
    calls: [[input]],
    bytes,
    file: new Blob([bytes]),
    programs: { prefill: "prefill.pt2", decode: "decode.pt2" },
  };
}

let count = 0;
for (const page of PAGES) {
  const text = readFileSync(join(root, `docs/${page}.md`), "utf8");
  for (const { 1: code, index } of text.matchAll(/^```js\n([^]*?)^```$/gm)) {
    if (isElsewhere(code!)) continue;
    const line = text.slice(0, index).split("\n").length;
    count++;
    test(`docs/${page}.md, line ${line}`, async ({ mock }) => {
      Object.assign(globalThis, context(page));
      for (const name of ["log", "warn", "error"] as const)
        mock.method(console, name, () => undefined);
      const file = join(folder, `${page}_${line}.mjs`);
      writeFileSync(file, code!);
      await import(pathToFileURL(file).href);
    });
  }
}

test("most of the blocks run", () => assert.ok(count > 25, `${count} blocks`));
