// Files of tokenizers: those of Hugging Face and of llama2.c, and packages that are not installed.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import type { SconceError } from "sconce";
import { openLanguageModel, type LanguageModel, type TokenizerFile } from "sconce/llm";
import { samplePath } from "../setup/reference.js";
import { EOS, fakeProgram } from "./fake.js";
import { TOKENIZER_CONFIG, tokenizerJson } from "./tokenizer_files.js";

const opened = (tokenizer: TokenizerFile): Promise<LanguageModel> =>
  openLanguageModel({
    program: fakeProgram({ length: 64 }, () => EOS),
    tokenizer,
    tokenizerConfig: TOKENIZER_CONFIG,
  });

test("tokenizer.json comes as text, bytes, a Blob or an object", async () => {
  const text = JSON.stringify(tokenizerJson());
  const bytes = new TextEncoder().encode(text);
  for (const file of [
    text,
    `\uFEFF ${text}`,
    bytes,
    bytes.buffer,
    Buffer.from(text),
    new Blob([text]),
    tokenizerJson(),
  ]) {
    const { tokenizer, eosIds, tokenCount } = await opened(file);
    assert.deepEqual(eosIds, [2]);
    assert.equal(tokenizer.bosId, 1);
    assert.equal(tokenizer.vocabularySize, 263);
    assert.equal(tokenizer.tokenId!("<|im_end|>"), 2);
    assert.equal(typeof tokenCount, "function");
    const { ids } = tokenizer.encode("hello") as { ids: number[] };
    assert.deepEqual(ids, [262]);
    assert.equal(tokenizer.decode([1, ...ids, 2]), "hello");
  }
});

test("tokens of text in all scripts become that text again", async () => {
  const { tokenizer } = await opened(tokenizerJson());
  for (const text of ["", " ", "hello world\n", "naïve café", "日本語 😀", "a\u0000b"]) {
    const given = tokenizer.encode(text);
    const ids = Array.from("ids" in given ? given.ids : given);
    assert.equal(tokenizer.decode(ids), text);
  }
});

/** Merges two neighbours at a time, those with the best score first, as llama2.c does. */
function mergedPlainly(file: Buffer, text: string): number[] {
  const pieces: { key: string; score: number }[] = [];
  for (let at = 4; at < file.length;) {
    const size = file.readInt32LE(at + 4);
    const key = file.toString("latin1", at + 8, at + 8 + size);
    pieces.push({ key, score: file.readFloatLE(at) });
    at += 8 + size;
  }
  const ids = new Map(pieces.map(({ key }, id) => [key, id]));
  const tokens = [...` ${text}`].flatMap((character) => {
    const key = Buffer.from(character).toString("latin1");
    const id = ids.get(key);
    return id === undefined ? Array.from(Buffer.from(character), (byte) => byte + 3) : [id];
  });
  for (;;) {
    let [best, at] = [-Infinity, -1];
    for (let i = 0; i + 1 < tokens.length; i++) {
      const id = ids.get(pieces[tokens[i]!]!.key + pieces[tokens[i + 1]!]!.key);
      if (id !== undefined && pieces[id]!.score > best) [best, at] = [pieces[id]!.score, i];
    }
    if (at < 0) return tokens;
    tokens.splice(at, 2, ids.get(pieces[tokens[at]!]!.key + pieces[tokens[at + 1]!]!.key)!);
  }
}

test("llama2.c's tokenizer merges as llama2.c does", async () => {
  const file = readFileSync(samplePath("stories260k.tokenizer.bin"));
  const { tokenizer, eosIds } = await opened(file);
  assert.deepEqual(eosIds, [1, 2]);
  assert.equal(tokenizer.vocabularySize, 512);
  // So the golden text begins.
  assert.deepEqual(tokenizer.encode("Once upon a time"), [1, 403, 407, 261, 378]);
  assert.deepEqual(tokenizer.encode(""), [1]);
  const golden = JSON.parse(readFileSync(samplePath("stories260k.golden.json"), "utf8")) as {
    text: string;
  };
  for (const text of [golden.text.slice(0, 300), "Zoë ate 7 \u{1F34E}s.\n", "aaaaaaa", "  x  "]) {
    const tokens = Array.from(tokenizer.encode(text, { addSpecialTokens: false }) as number[]);
    assert.deepEqual(tokens, mergedPlainly(file, text));
    assert.equal(tokenizer.decode([1, ...tokens]), text);
  }
  const long = "Once upon a time, there was a cat. ".repeat(20_000);
  assert.ok((tokenizer.encode(long) as number[]).length > 100_000);
});

test("a tokenizer.bin that is cut anywhere is refused, or has fewer tokens", async () => {
  const file = readFileSync(samplePath("stories260k.tokenizer.bin"));
  let refusals = 0;
  for (let size = 4; size < 400; size++)
    await opened(file.subarray(0, size)).catch((error: SconceError) => {
      assert.equal(error.code, "format");
      refusals++;
    });
  assert.ok(refusals > 300, `${refusals}`);
  for (const length of [-1, 2 ** 31 - 1, file.length]) {
    const wrong = Buffer.from(file);
    wrong.writeInt32LE(length, 8);
    await assert.rejects(opened(wrong), { code: "format" });
  }
});

test("a tokenizer.json that is none says so", async () => {
  for (const file of [{ model: { type: "Nonsense" } }, { model: null }, "{}", "{", "5"])
    await assert.rejects(opened(file), (error: SconceError) =>
      ["format", "argument"].includes(error.code),
    );
});

test("without the packages, those that need none work, and errors name the others", () => {
  const folder = mkdtempSync(join(tmpdir(), "sconce-peers-"));
  try {
    const installed = join(folder, "node_modules/sconce");
    mkdirSync(installed, { recursive: true });
    const root = dirname(dirname(fileURLToPath(import.meta.resolve("sconce"))));
    cpSync(join(root, "dist"), join(installed, "dist"), {
      recursive: true,
      filter: (path) => !/\.(wasm|br|map)$|dist\/(web|cli)$/.test(path),
    });
    writeFileSync(join(installed, "package.json"), readFileSync(join(root, "package.json")));
    const script = `
      import { openLanguageModel } from "sconce/llm";
      const info = (name, shape, dtype) => ({ name, kind: "tensor", shape, dtype, dynamic: true });
      const program = {
        inspect: () => ({ methods: [{ name: "forward", instructions: 1, ops: {},
          inputs: [info("tokens", [1, 8], "int64")], outputs: [info("out", [1, 8, 9], "float32")] }] }),
        run: () => [], reset: () => {},
      };
      const own = { encode: () => [1], decode: () => "" };
      console.log((await openLanguageModel({ program, tokenizer: own, chatTemplate: () => "" })).contextLength);
      for (const options of [{ tokenizer: { model: {} } }, { tokenizer: own, chatTemplate: "x" }])
        await openLanguageModel({ program, ...options }).catch(({ code, message, hint }) =>
          console.log(code, message, hint));`;
    writeFileSync(join(folder, "test.mjs"), script);
    const { stdout, stderr } = spawnSync(process.execPath, ["test.mjs"], {
      cwd: folder,
      encoding: "utf8",
    });
    const lines = stdout.trim().split("\n");
    assert.equal(lines[0], "8", stderr);
    assert.match(lines[1]!, /^not_found .*npm install @huggingface\/tokenizers/);
    assert.match(lines[2]!, /^not_found .*npm install @huggingface\/jinja/);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
