// The main job in one script: two .pt2 files become one .pte, which then tells a story.
//   node examples/story.mjs [number of tokens]
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { createEngine } from "sconce";
import { openLanguageModel } from "sconce/llm";

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

const lm = await openLanguageModel({
  program: engine.load(buffer),
  tokenizer: readFileSync(model("tokenizer.bin")),
});
// The empty text is the token that begins a story.
const story = lm.generate("", { maxNewTokens: count - 1 });
for await (const { text } of story) process.stdout.write(text);
console.log(`\n\n${story.summary?.decodeTokensPerSecond.toFixed(0)} tokens/s`);
engine.dispose();
