// A real language model through the library: in an engine, in a runtime and in a client, with one method
// for all or two, as PyTorch writes its tokens.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { before, test } from "node:test";
import type { LowerOptions, Programs } from "sconce";
import { openLanguageModel, type LanguageModel, type LanguageProgram } from "sconce/llm";
import { createRuntime } from "sconce/run";
import { withBoth } from "../setup/both.js";
import { samplePath } from "../setup/reference.js";

const file = (name: string): { path: string } => ({ path: samplePath(`stories260k.${name}`) });
const tokenizer = readFileSync(file("tokenizer.bin").path);
const golden = JSON.parse(readFileSync(file("golden.json").path, "utf8")) as {
  tokens: number[];
  text: string;
};

// The file has single bytes by their names, and a space before the first word.
const story = golden.text.replaceAll("<0x0A>", "\n").trim();

const { engine, client } = await withBoth();

function lowered(programs: Programs, options: LowerOptions): Uint8Array<ArrayBuffer> {
  const made = engine.lower(programs, options);
  const { buffer } = made;
  made.dispose();
  return buffer;
}

const both = { prefill: file("prefill.pt2"), decode: file("decode.pt2") };
let pte: Uint8Array<ArrayBuffer>;
before(() => {
  const constantMethods = { get_max_seq_len: 256 };
  pte = lowered(both, { constantMethods, shareMutableBuffers: true });
});

const opened = (program: LanguageProgram, contextLength = 256): Promise<LanguageModel> =>
  openLanguageModel({ program, tokenizer, contextLength });

async function checkGolden(program: LanguageProgram): Promise<void> {
  const lm = await opened(program);
  const count = golden.tokens.length - 1;
  const tokens = [1];
  const generation = lm.generate("", { maxNewTokens: count });
  for await (const piece of generation) tokens.push(...piece.tokens);
  assert.deepEqual(tokens, golden.tokens);
  assert.equal(generation.summary!.text, story);
  // The same with a prompt that is prefilled at once, and goes on where the cache holds other tokens.
  const again: number[] = golden.tokens.slice(0, 60);
  const rest = lm.generate(again, { maxNewTokens: count - 59 });
  for await (const piece of rest) again.push(...piece.tokens);
  assert.deepEqual(again, golden.tokens);
  assert.equal(rest.summary!.reusedTokens, 59);
}

test("an engine's program writes PyTorch's tokens", async () => {
  const program = engine.load(pte);
  await checkGolden(program);
  program.dispose();
});

test("a runtime's program does, too", async () => {
  const runtime = await createRuntime();
  await checkGolden(runtime.load(pte));
  runtime.dispose();
});

test("a client's program does, too", async () => {
  const program = await client.load(pte);
  await checkGolden(program);
  await program.dispose();
});

test("one method for one token does, too, and so does one with a dynamic length", async () => {
  for (const name of ["decode", "prefill"] as const) {
    const program = engine.load(lowered({ forward: both[name] }, {}));
    await checkGolden(program);
    program.dispose();
  }
});

test("a delegated program does, too", async () => {
  const options: LowerOptions = { partitioner: "xnnpack", shareMutableBuffers: true };
  const program = engine.load(lowered(both, options));
  await checkGolden(program);
  program.dispose();
});

test("a client's signal stops the answer within a call, and the cache stays right", async () => {
  const program = await client.load(pte);
  const lm = await opened(program);
  for (const after of [0, 1, 5, 20]) {
    const stop = new AbortController();
    const generation = lm.generate("", { signal: stop.signal });
    if (after === 0) setTimeout(() => stop.abort());
    let count = 0;
    await assert.rejects(
      async () => {
        for await (const _ of generation) if (++count === after) setTimeout(() => stop.abort());
      },
      { code: "cancelled" },
    );
    const text = await lm.generate("", { maxNewTokens: 30 }).text();
    assert.ok(story.startsWith(text));
  }
  await program.dispose();
});

test("a file's wrong context is an error, not a crash", async () => {
  const options = { shareMutableBuffers: true, constantMethods: { get_max_seq_len: 100_000 } };
  const program = engine.load(lowered(both, options));
  const lm = await openLanguageModel({ program, tokenizer });
  assert.equal(lm.contextLength, 100_000);
  await assert.rejects(lm.generate("", { maxNewTokens: 400 }).text(), (error: Error) => {
    assert.equal(error.name, "SconceError");
    return true;
  });
  assert.equal(await lm.generate("", { maxNewTokens: 1 }).text(), "Once");
  program.dispose();
});
