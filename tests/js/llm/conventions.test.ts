// The forms of language models that exporters write: each gives the same tokens for the same prompt, and
// calls its methods with what they declare.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  SconceError,
  type InputValue,
  type ProgramMethodInfo,
  type ProgramValueInfo,
  type Tensor,
} from "sconce";
import {
  openLanguageModel,
  type LanguageModelOptions,
  type LanguageProgram,
  type Prompt,
  type TextTokenizer,
} from "sconce/llm";
import { bytes, expected, fakeProgram, idsOf, type Form } from "./fake.js";

const PROMPT = "The quick brown fox jumps over";
const prompt = [1, ...idsOf(PROMPT)];
const COUNT = 12;

async function tokensOf(
  form: Form,
  given: Prompt = PROMPT,
  options: Partial<LanguageModelOptions> = {},
): Promise<{ tokens: number[]; calls: { method: string; start: number; tokens: number[] }[] }> {
  const program = fakeProgram(form);
  const lm = await openLanguageModel({
    program,
    tokenizer: bytes,
    contextLength: form.cache ?? 64,
    ...options,
  });
  const tokens: number[] = [];
  for await (const piece of lm.generate(given, { maxNewTokens: COUNT }))
    tokens.push(...piece.tokens);
  return { tokens, calls: program.calls };
}

const positions = ["start", "scalar", "number", "positions", "positions2"] as const;

for (const position of positions)
  for (const scores of ["last", "all", "flat"] as const)
    test(`${position} and scores ${scores}: chunks of at most 16 tokens, then single ones`, async () => {
      const { tokens, calls } = await tokensOf({ position, scores });
      assert.deepEqual(tokens, expected(prompt, COUNT));
      assert.deepEqual(
        calls.slice(0, 3).map(({ start, tokens: { length } }) => [start, length]),
        [
          [0, 16],
          [16, 15],
          [31, 1],
        ],
      );
      assert.equal(calls.length, 2 + COUNT - 1);
    });

test("tokens of 32 bits, without a batch, and scores of every float type", async () => {
  for (const dtype of ["float32", "float64", "float16", "bfloat16"] as const)
    for (const rank of [1, 2] as const)
      for (const scores of ["last", "all"] as const) {
        const { tokens } = await tokensOf({ dtype, rank, scores, ids: "int32" });
        assert.deepEqual(tokens, expected(prompt, COUNT), `${dtype} ${rank} ${scores}`);
      }
});

test("prefill and decode: one method for the prompt, the other for single tokens", async () => {
  const { tokens, calls } = await tokensOf({ methods: "pair", length: 30 });
  assert.deepEqual(tokens, expected(prompt, COUNT));
  // A prompt of 31: a chunk of 30, and the last one by itself.
  assert.deepEqual(
    calls.slice(0, 3).map(({ method, tokens: { length } }) => [method, length]),
    [
      ["prefill", 30],
      ["decode", 1],
      ["decode", 1],
    ],
  );
});

test("a static prefill takes whole chunks, and decode takes the rest", async () => {
  const form: Form = { methods: "pair", length: 8, isDynamic: false };
  const { tokens, calls } = await tokensOf(form);
  assert.deepEqual(tokens, expected(prompt, COUNT));
  assert.equal(calls.filter(({ method }) => method === "prefill").length, 3);
});

test("a program for one token takes the prompt token by token", async () => {
  for (const methods of ["forward", "decode"] as const) {
    const form: Form = { methods, length: 1, isDynamic: false };
    const { tokens, calls } = await tokensOf(form);
    assert.deepEqual(tokens, expected(prompt, COUNT));
    assert.ok(calls.every(({ tokens: { length } }) => length === 1));
  }
});

test("a static program for several tokens is padded, if it gives all scores", async () => {
  const form: Form = { length: 8, isDynamic: false, scores: "all", position: "positions" };
  const { tokens, calls } = await tokensOf(form);
  assert.deepEqual(tokens, expected(prompt, COUNT));
  assert.ok(calls.every(({ tokens: { length } }) => length === 8));
  await assert.rejects(tokensOf({ length: 8, isDynamic: false }), { code: "unsupported" });
});

test("a program without a cache takes the whole text each time", async () => {
  for (const isDynamic of [true, false]) {
    const form: Form = { position: "none", length: 48, scores: "all", isDynamic };
    const { tokens, calls } = await tokensOf(form, PROMPT, { contextLength: 48 });
    assert.deepEqual(tokens, expected(prompt, COUNT));
    assert.equal(calls.length, COUNT);
    assert.ok(calls.every(({ start }) => start === 0));
    assert.equal(calls[1]!.tokens.length, isDynamic ? 32 : 48);
  }
});

test("embeddings and decoder apart", async () => {
  for (const position of positions)
    for (const [length, isDynamic] of [
      [16, true],
      [1, false],
    ] as const) {
      const { tokens } = await tokensOf({ methods: "split", position, length, isDynamic });
      assert.deepEqual(tokens, expected(prompt, COUNT), `${position} ${length}`);
    }
});

test("chunks are short if a program gives many scores for each token", async () => {
  const vocabulary = 2 ** 20;
  for (const [scores, longest] of [
    ["all", 16],
    ["last", 31],
  ] as const) {
    const program = fakeProgram({ length: 64, scores });
    program.methods[0]!.outputs[0]!.shape =
      scores === "all" ? [1, 64, vocabulary] : [1, vocabulary];
    const { run } = program;
    program.run = (...call) => {
      const [output] = run(...call) as [Tensor];
      const data = new Float32Array(vocabulary);
      data.set((output.data as Float32Array).subarray(-300));
      return [{ dtype: "float32", shape: [1, vocabulary], data }];
    };
    const lm = await openLanguageModel({ program, tokenizer: bytes, contextLength: 64 });
    const tokens: number[] = [];
    for await (const piece of lm.generate(PROMPT, { maxNewTokens: 3 }))
      tokens.push(...piece.tokens);
    assert.deepEqual(tokens, expected(prompt, 3));
    assert.equal(Math.max(...program.calls.map((call) => call.tokens.length)), longest);
  }
});

test("a program whose calls give promises", async () => {
  const { tokens } = await tokensOf({ isRemote: true });
  assert.deepEqual(tokens, expected(prompt, COUNT));
});

test("token ids are a prompt, too", async () => {
  const { tokens } = await tokensOf({}, [5, 6, 7]);
  assert.deepEqual(tokens, expected([5, 6, 7], COUNT));
});

test("an encoder of the prompt, and a decoder that begins with a token of its own", async () => {
  const START = 9;
  const masks: number[][] = [];
  const info = (name: string, dtype: "int64" | "float32", shape: number[]): ProgramValueInfo => ({
    ...{ name, kind: "tensor", dtype, shape, dynamic: false },
  });
  const method = (
    name: string,
    inputs: ProgramValueInfo[],
    outputs: ProgramValueInfo[],
  ): ProgramMethodInfo => ({
    ...{ name, inputs, outputs, plannedBytes: [], instructions: inputs.length, ops: {} },
    ...{ delegates: [], parts: [], externalData: [] },
  });
  const numbers = (value: InputValue): number[] => Array.from((value as Tensor).data, Number);
  const states = info("states", "float32", [1, 8, 1]);
  const program: LanguageProgram = {
    inspect: () => ({
      methods: [
        method("encoder", [info("ids", "int64", [1, 8]), info("mask", "int64", [1, 8])], [states]),
        method(
          "text_decoder",
          [info("ids", "int64", [1, 1]), states, info("cache_position", "int64", [1])],
          [info("logits", "float32", [1, 1, 300])],
        ),
        method("decoder_start_token_id", [], [{ name: "output_0", kind: "int" }]),
        method("get_max_seq_len", [], [{ name: "output_0", kind: "int" }]),
      ],
    }),
    run: (name, inputs) => {
      if (name === "get_max_seq_len") return [32];
      if (name === "decoder_start_token_id") return [START];
      const [ids, second, place] = inputs.map(numbers) as [number[], number[], number[]];
      if (name === "encoder") {
        masks.push(second);
        return [{ dtype: "float32", shape: [1, 8, 1], data: Float32Array.from(ids) }];
      }
      const at = place[0]!;
      assert.equal(ids[0], at === 0 ? START : second[at - 1]);
      const data = new Float32Array(300);
      data[second[at]! || 2] = 1;
      return [{ dtype: "float32", shape: [1, 1, 300], data }];
    },
    reset: () => undefined,
  };
  const lm = await openLanguageModel({ program, tokenizer: bytes });
  for (const text of ["abc", "de"]) {
    const generation = lm.generate([...idsOf(text)]);
    assert.equal(await generation.text(), text);
    assert.equal(generation.summary!.finishReason, "eos");
  }
  assert.deepEqual(masks[0], [1, 1, 1, 0, 0, 0, 0, 0]);
  await assert.rejects(lm.generate("too long a text").text(), { code: "limit" });
});

test("a text that cannot fit is refused before it is split into tokens", async () => {
  let split = 0;
  const counting: TextTokenizer = {
    ...bytes,
    longestToken: 4,
    encode: (text, options) => {
      split++;
      return bytes.encode(text, options);
    },
  };
  const program = fakeProgram({ constants: { get_max_context_len: [32] } });
  const template = (): string => "x";
  const lm = await openLanguageModel({ program, tokenizer: counting, chatTemplate: template });
  const long = "a".repeat(129);
  const message = { role: "user", content: [{ type: "text" as const, text: long }] };
  for (const prompt of [long, [message], [{ role: "user", content: long }], message.content])
    await assert.rejects(lm.generate(prompt).text(), {
      code: "limit",
      message: /129 characters, and the context has room for 32 tokens, which stand for 128/,
    } as never);
  assert.equal(split, 0);
  assert.equal(lm.tokenCount(long), 130);
  await lm.generate([{ role: "user", content: "a" }], { maxNewTokens: 1 }).text();
  assert.equal(split, 2);
});

test("a context length beyond the cache is found by the first prompt", async () => {
  for (const methods of ["forward", "pair", "split"] as const) {
    const program = fakeProgram({ methods, cache: 64 });
    const { run } = program;
    program.run = (name, inputs, options) => {
      try {
        return run(name, inputs, options);
      } catch (error) {
        throw new SconceError("index", (error as Error).message);
      }
    };
    const given = { program, tokenizer: bytes };
    const wrong = await openLanguageModel({ ...given, contextLength: 65 });
    await assert.rejects(wrong.generate("a").text(), {
      code: "option",
      message: /'contextLength' is 65, and the cache of the program is shorter: start 64 of 64/,
    } as never);
    assert.equal(program.calls.length, 0);
    const right = await openLanguageModel({ ...given, contextLength: 64 });
    const { resets } = program;
    await right.generate("a", { maxNewTokens: 3 }).text();
    await right.generate("a", { maxNewTokens: 3 }).text();
    assert.equal(program.resets, resets + 2);
  }
});

// --- Constant methods ----------------------------------------------------------------------------------

async function opened(
  constants: Form["constants"],
  form: Form = {},
): Promise<Awaited<ReturnType<typeof openLanguageModel>>> {
  const program = fakeProgram({ ...form, ...(constants && { constants }) });
  return openLanguageModel({ program, tokenizer: bytes });
}

test("the context is as long as the program tells", async () => {
  assert.equal(
    (await opened({ get_max_context_len: [48], get_max_seq_len: [8] })).contextLength,
    48,
  );
  assert.equal((await opened({ get_max_seq_len: [40] })).contextLength, 40);
  assert.equal((await opened({})).contextLength, 16);
});

test("chunks are as long as the program tells: get_max_seq_len, sliding_window", async () => {
  for (const [constants, longest] of [
    [{ get_max_context_len: [64], get_max_seq_len: [8] }, 8],
    [{ get_max_seq_len: [64], sliding_window: [4] }, 4],
    [{ get_max_seq_len: [64] }, 16],
  ] as const) {
    const { tokens, calls } = await tokensOf({ constants: constants as never });
    assert.deepEqual(tokens, expected(prompt, COUNT));
    assert.equal(Math.max(...calls.map(({ tokens: { length } }) => length)), longest);
  }
});

test("end tokens come from the program and from the tokenizer", async () => {
  assert.deepEqual((await opened({ get_eos_ids: [7, 8] })).eosIds, [7, 8, 2]);
  assert.deepEqual((await opened({ get_eos_id: [9] })).eosIds, [9, 2]);
  const program = fakeProgram({ constants: { get_eos_ids: [7] } });
  const lm = await openLanguageModel({ program, tokenizer: bytes, eosIds: [4] });
  assert.deepEqual(lm.eosIds, [4]);
});

test("constant methods that make no sense are warnings, and shapes decide", async () => {
  for (const value of [-5, 0, 2 ** 40, 1.5, "64", true, null, 2n ** 60n, NaN]) {
    const lm = await opened({ get_max_seq_len: [value] });
    assert.equal(lm.contextLength, 16);
    assert.match(lm.warnings[0]!.message, /get_max_seq_len gives .* is not a length/);
  }
  for (const ids of [[-1], ["2"], [3, null], [2 ** 33]]) {
    const lm = await opened({ get_eos_ids: ids as never });
    assert.deepEqual(lm.eosIds, [2]);
    assert.equal(lm.warnings[0]!.code, "metadata");
  }
  const many = await opened({ get_eos_ids: new Array<number>(5000).fill(4) });
  assert.deepEqual(many.eosIds, [2]);
});

test("a program for one token must tell its context", async () => {
  const form: Form = { length: 1, isDynamic: false };
  await assert.rejects(opened({}, form), (error: SconceError) => {
    assert.equal(error.code, "option");
    assert.match(error.hint ?? "", /contextLength/);
    return true;
  });
  assert.equal((await opened({ get_max_seq_len: [32] }, form)).contextLength, 32);
  const program = fakeProgram({ ...form, constants: { get_max_seq_len: [32] } });
  const given = { program, tokenizer: bytes };
  assert.equal((await openLanguageModel({ ...given, contextLength: 20 })).contextLength, 20);
  await assert.rejects(openLanguageModel({ ...given, contextLength: 33 }), { code: "option" });
});

test("warnings tell of a missing end token and of a tokenizer that is too large", async () => {
  const program = fakeProgram();
  const { eosIds: _, ...endless } = bytes;
  const lm = await openLanguageModel({
    program,
    tokenizer: { ...endless, vocabularySize: 301 },
  });
  assert.deepEqual(
    lm.warnings.map(({ code }) => code),
    ["eos_missing", "vocabulary"],
  );
  await assert.rejects(lm.generate([1, 300]).text(), (error: SconceError) => {
    assert.equal(error.code, "argument");
    assert.match(error.message, /token 300, and the program knows 300/);
    return true;
  });
});

// --- Programs of other forms ----------------------------------------------------------------------------

type Change = (method: ReturnType<typeof fakeProgram>["methods"][number]) => void;

const WRONG: Readonly<Record<string, Change>> = {
  "another name": (m) => (m.name = "main"),
  "no inputs": (m) => (m.inputs.length = 0),
  "floats of rank 2": (m) => (m.inputs[0]!.dtype = "float32"),
  "a batch of 2": (m) => (m.inputs[0]!.shape = [2, 16]),
  "no tokens": (m) => (m.inputs[0]!.shape = [1, 0]),
  "rank 4": (m) => (m.inputs[0]!.shape = [1, 1, 1, 16]),
  "a mask": (m) => (m.inputs[1]!.shape = [1, 16, 16, 4]),
  "a number as tokens": (m) => (m.inputs[0]!.kind = "double"),
  "two positions": (m) => m.inputs.push({ ...m.inputs[1]!, shape: [16] }),
  "the same position twice": (m) => m.inputs.push(m.inputs[1]!),
  "no outputs": (m) => (m.outputs.length = 0),
  "two outputs": (m) => m.outputs.push(m.outputs[0]!),
  "scores of integers": (m) => (m.outputs[0]!.dtype = "int64"),
  "no scores": (m) => (m.outputs[0]!.shape = [1, 0]),
  "scores without shape": (m) => delete m.outputs[0]!.shape,
  "scores of other rows": (m) => (m.outputs[0]!.shape = [1, 5, 300]),
  "embeddings without their table": (m) =>
    Object.assign(m.inputs[0]!, { dtype: "float32", shape: [1, 16, 4] }),
};

for (const [what, change] of Object.entries(WRONG))
  test(`a program with ${what} is refused, and the error says what fits`, async () => {
    const program = fakeProgram();
    change(program.methods[0]!);
    await assert.rejects(openLanguageModel({ program, tokenizer: bytes }), (error: SconceError) => {
      assert.equal(error.code, "unsupported", error.message);
      assert.match(error.hint ?? "", /tokens \[1, S\]/);
      return true;
    });
  });

test("outputs that are not what the program declares are errors", async () => {
  for (const value of [null, 3, { dtype: "float32", shape: [7], data: new Float32Array(7) }]) {
    const program = fakeProgram();
    const { run } = program;
    program.run = (name, ...rest) => (name === "forward" ? [value as never] : run(name, ...rest));
    const lm = await openLanguageModel({ program, tokenizer: bytes });
    await assert.rejects(lm.generate("a").text(), { code: "mismatch" });
  }
  for (const score of [NaN, -Infinity]) {
    const program = fakeProgram();
    const data = new Float32Array(300).fill(score);
    program.run = () => [{ dtype: "float32", shape: [1, 300], data }];
    const lm = await openLanguageModel({ program, tokenizer: bytes });
    for (const temperature of [0, 1])
      await assert.rejects(lm.generate("a", { temperature }).text(), { code: "numeric" });
  }
});

test("tokenizers that give no tokens are errors", async () => {
  for (const ids of [null, 5, "abc", [1.5], [-1], [2 ** 40], ["a"], { ids: null }]) {
    const lm = await openLanguageModel({
      program: fakeProgram(),
      tokenizer: { ...bytes, encode: () => ids as never },
    });
    await assert.rejects(lm.generate("a").text(), { code: "argument" }, JSON.stringify(ids));
  }
  for (const tokenizer of [
    undefined,
    null,
    5,
    {},
    "{",
    "[]",
    "{}",
    new Uint8Array([1, 2, 3, 4, 9]),
  ])
    await assert.rejects(
      openLanguageModel({ program: fakeProgram(), tokenizer: tokenizer as never }),
      (error: SconceError) => ["argument", "format"].includes(error.code),
    );
  await assert.rejects(openLanguageModel({ program: {} as never, tokenizer: bytes }), {
    code: "argument",
  });
});
