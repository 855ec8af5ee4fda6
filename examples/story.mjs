// The main job in one script: two .pt2 files become one .pte, which then tells a story.
//   node examples/story.mjs [number of tokens]
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { createEngine } from "sconce";
import { BEGIN, Vocabulary, tell } from "./stories.mjs";

const model = (/** @type {string} */ name) =>
  fileURLToPath(new URL(`../models/stories260k.${name}`, import.meta.url));
const count = Number(process.argv[2] ?? 200);

const engine = await createEngine();
const begin = performance.now();
const lowered = engine.lower(
  { prefill: { path: model("prefill.pt2") }, decode: { path: model("decode.pt2") } },
  { constantMethods: { get_max_seq_len: 256 }, shareMutableBuffers: true },
);
const ms = performance.now() - begin;
const { buffer } = lowered;
lowered.dispose();
writeFileSync("stories260k.pte", buffer);
console.log(
  `stories260k.pte: ${(buffer.length / 1e6).toFixed(2)} MB, lowered in ${ms.toFixed(0)} ms\n`,
);

const program = engine.load(buffer);
const vocabulary = new Vocabulary(readFileSync(model("tokenizer.bin")));
const text = new TextDecoder();
let previous = BEGIN;
let tokens = 0;
const start = performance.now();
for await (const token of tell(program, count)) {
  if (tokens++ > 0)
    process.stdout.write(text.decode(vocabulary.bytes(token, previous), { stream: true }));
  previous = token;
}
console.log(`\n\n${(tokens / ((performance.now() - start) / 1000)).toFixed(0)} tokens/s`);
program.dispose();
engine.dispose();
