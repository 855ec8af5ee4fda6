// Generations: their options, how they end, and what they leave in the cache.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { SconceError } from "sconce";
import {
  openLanguageModel,
  type GeneratedPiece,
  type GenerateOptions,
  type Generation,
  type LanguageModel,
} from "sconce/llm";
import { bytes, EOS, expected, fakeProgram, idsOf, VOCABULARY, type Form } from "./fake.js";

/** A program that says a text after a prompt of one token, over and over, or until its end. */
function saying(said: string, form: Form = {}, end?: number): ReturnType<typeof fakeProgram> {
  const ids = [...idsOf(said), ...(end === undefined ? [] : [end])];
  const program = { cache: 4096, length: 256, ...form };
  return fakeProgram(program, (tokens) => ids[(tokens.length - 1) % ids.length]!);
}

async function modelSaying(said: string, form: Form = {}, end?: number): Promise<LanguageModel> {
  const program = saying(said, form, end);
  return openLanguageModel({ program, tokenizer: bytes, contextLength: form.cache ?? 4096 });
}

async function piecesOf(generation: Generation): Promise<GeneratedPiece[]> {
  const pieces: GeneratedPiece[] = [];
  for await (const piece of generation) pieces.push(piece);
  return pieces;
}

test("pieces have the text and the tokens, and the summary has both and the speed", async () => {
  const lm = await modelSaying("Hello, world", {}, EOS);
  const generation = lm.generate("");
  assert.equal(generation.summary, undefined);
  const pieces = await piecesOf(generation);
  assert.deepEqual(
    pieces.flatMap(({ tokens }) => tokens),
    idsOf("Hello, world"),
  );
  assert.equal(pieces.map(({ text }) => text).join(""), "Hello, world");
  const { prefillMs, decodeMs, prefillTokensPerSecond, decodeTokensPerSecond, ...rest } =
    generation.summary!;
  assert.deepEqual(rest, {
    finishReason: "eos",
    text: "Hello, world",
    promptTokens: 1,
    reusedTokens: 0,
    newTokens: 13,
  });
  for (const figure of [prefillMs, decodeMs, prefillTokensPerSecond, decodeTokensPerSecond])
    assert.ok(figure >= 0 && figure < Infinity, `${figure}`);
  assert.throws(() => generation[Symbol.asyncIterator](), { code: "state" });
});

test("each end token ends an answer", async () => {
  for (const end of [2, 290, 291]) {
    const program = saying("abc", {}, end);
    const lm = await openLanguageModel({ program, tokenizer: bytes, eosIds: [2, 290, 291] });
    const generation = lm.generate("");
    assert.equal(await generation.text(), "abc");
    assert.equal(generation.summary!.finishReason, "eos");
  }
});

test("an answer ends at its largest length, and where the context is full", async () => {
  const lm = await modelSaying("abc", { cache: 20 });
  const five = lm.generate("", { maxNewTokens: 5 });
  assert.equal(await five.text(), "abcab");
  assert.equal(five.summary!.finishReason, "length");
  const all = lm.generate("");
  // 19 more fit behind the first token, and the last one need not.
  assert.equal((await all.text()).length, 20);
  assert.equal(all.summary!.finishReason, "context");
  assert.equal(lm.used, 20);
  assert.equal(await lm.generate("x".repeat(18), { maxNewTokens: 1 }).text(), "a");
  await assert.rejects(lm.generate("x".repeat(19)).text(), (error: SconceError) => {
    assert.equal(error.code, "limit");
    assert.match(error.message, /20 tokens, and the context has room for 19/);
    return true;
  });
});

test("options are checked", async () => {
  const lm = await modelSaying("abc");
  const wrong: [string, unknown][] = [
    ["maxNewTokens", 0],
    ["maxNewTokens", 1.5],
    ["temperature", -1],
    ["temperature", Infinity],
    ["topK", -1],
    ["topP", 0],
    ["topP", 1.1],
    ["minP", 2],
    ["repetitionPenalty", 0],
    ["seed", -1],
    ["seed", 0.5],
    ["stop", ""],
    ["stop", ["a", ""]],
    ["signal", {}],
    ["templateVariables", []],
    ["maxTokens", 4],
  ];
  for (const [name, value] of wrong)
    assert.throws(() => lm.generate("", { [name]: value }), { code: "option" }, name);
  await assert.rejects(
    openLanguageModel({ program: fakeProgram(), tokenizer: bytes, tokeniser: 1 } as never),
    (error: SconceError) => /Did you mean 'tokenizer'/.test(error.hint ?? ""),
  );
  for (const prompt of [[], [-1], [0.5], ["a"], [{ role: 1 }], [{ role: "user" }]])
    await assert.rejects(lm.generate(prompt as never).text(), { code: "argument" });
});

// --- Stop texts and characters ---------------------------------------------------------------------------

test("a stop text ends the answer, and is no part of it", async () => {
  const lm = await modelSaying("one two three four", {}, EOS);
  for (const [stop, text] of [
    ["three", "one two "],
    [["four", "two"], "one "],
    ["wo t", "one t"],
    ["one", ""],
    ["five", "one two three four"],
    ["four five", "one two three four"],
  ] as const) {
    const generation = lm.generate("", { stop });
    assert.equal(await generation.text(), text);
    assert.equal(generation.summary!.finishReason, /four$/.test(text) ? "eos" : "stop");
  }
});

test("the beginning of a stop text is held back, and given out if it was none", async () => {
  const lm = await modelSaying("abab abcd", {}, EOS);
  const pieces = await piecesOf(lm.generate("", { stop: "abc" }));
  assert.equal(pieces.map(({ text }) => text).join(""), "abab ");
  for (let end = 1; end <= pieces.length; end++) {
    const shown = pieces
      .slice(0, end)
      .map(({ text }) => text)
      .join("");
    assert.ok("abab ".startsWith(shown));
    assert.ok(!"abab abcd".slice(0, end).endsWith(`${shown}c`));
  }
});

test("characters come whole, however their bytes are split", async () => {
  const said = "aé€😀 ż日本語";
  const lm = await modelSaying(said, {}, EOS);
  const pieces = await piecesOf(lm.generate(""));
  assert.equal(pieces.map(({ text }) => text).join(""), said);
  for (const { text } of pieces) assert.doesNotMatch(text, /\uFFFD|\p{Cs}/u);
  // An answer that ends within a character shows that.
  const cut = lm.generate("", { maxNewTokens: 5 });
  assert.equal(await cut.text(), "aé\uFFFD");
});

/** Random numbers of a test, the same in every run. */
function generatorOf(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** The text up to the stop text that is complete first, by looking at every beginning of it. */
function reference(text: string, stops: readonly string[]): { text: string; isStopped: boolean } {
  for (let end = 0; end <= text.length; end++) {
    const found = stops.filter((stop) => text.slice(0, end).endsWith(stop));
    if (found.length === 0) continue;
    const longest = Math.max(...found.map(({ length }) => length));
    return { text: text.slice(0, end - longest), isStopped: true };
  }
  return { text, isStopped: false };
}

/** A tokenizer whose tokens are pieces of bytes, cut anywhere. */
function cutter(data: Uint8Array, random: (below: number) => number): number[][] {
  const pieces: number[][] = [];
  for (let at = 0; at < data.length;) {
    const size = 1 + random(5);
    pieces.push(Array.from(data.subarray(at, at + size)));
    at += size;
  }
  return pieces;
}

test("stop texts and characters at random places equal a plain search", async () => {
  const random = generatorOf(29);
  const letters = ["a", "b", "ab", "é", "€", "😀", " ", "\n", "日", "e\u0301", "\uFFFD"];
  const some = (most: number): string =>
    Array.from({ length: 1 + random(most) }, () => letters[random(letters.length)]).join("");
  for (let round = 0; round < 400; round++) {
    const said = some(40);
    const data = new TextEncoder().encode(said);
    // Sometimes bytes that are no text.
    if (random(4) === 0) data[random(data.length)] = 0x80 + random(0x80);
    const pieces = cutter(data, random);
    const whole = new TextDecoder("utf-8", { ignoreBOM: true }).decode(data);
    const stops = Array.from({ length: random(4) }, () => some(3));
    const tokenizer = {
      encode: () => [1],
      decode: (ids: number[]) =>
        new TextDecoder("utf-8", { ignoreBOM: true }).decode(
          Uint8Array.from(ids.flatMap((id) => pieces[id - 10] ?? [])),
        ),
      eosIds: [EOS],
    };
    const next = (tokens: readonly number[]): number =>
      tokens.length - 1 < pieces.length ? 9 + tokens.length : EOS;
    const program = fakeProgram({ cache: 512, length: 256 }, next);
    const lm = await openLanguageModel({ program, tokenizer });
    const generation = lm.generate("", { stop: stops });
    const shown: string[] = [];
    for await (const { text } of generation) {
      shown.push(text);
      assert.ok(reference(whole, stops).text.startsWith(shown.join("")), JSON.stringify(said));
    }
    const wanted = reference(whole, stops);
    const about = JSON.stringify({ whole, stops, pieces });
    assert.equal(shown.join(""), wanted.text, about);
    assert.equal(generation.summary!.finishReason, wanted.isStopped ? "stop" : "eos", about);
  }
});

// --- Ending early ----------------------------------------------------------------------------------------

for (const isRemote of [false, true]) {
  const where = isRemote ? "a client's program" : "an engine's program";

  test(`${where}: a signal ends the answer, and the model goes on`, async () => {
    const lm = await modelSaying("abcdefgh", { isRemote });
    const stop = new AbortController();
    const generation = lm.generate("", { signal: stop.signal });
    let text = "";
    await assert.rejects(
      async () => {
        for await (const piece of generation) {
          text += piece.text;
          if (text.length === 3) stop.abort(new Error("enough"));
        }
      },
      (error: SconceError) => {
        assert.equal(error.code, "cancelled");
        assert.equal(error.name, "AbortError");
        assert.equal((error.cause as Error).message, "enough");
        return true;
      },
    );
    assert.equal(generation.summary!.finishReason, "aborted");
    assert.equal(generation.summary!.text, "abc");
    assert.equal(await lm.generate("", { maxNewTokens: 4 }).text(), "abcd");
    await assert.rejects(lm.generate("", { signal: AbortSignal.abort() }).text(), {
      code: "cancelled",
    });
  });

  test(`${where}: a reader that leaves ends the answer, and the model goes on`, async () => {
    const lm = await modelSaying("abcdefgh", { isRemote });
    const generation = lm.generate("");
    for await (const { text } of generation) if (text === "d") break;
    assert.equal(generation.summary!.finishReason, "aborted");
    assert.equal(generation.summary!.text, "abcd");
    assert.equal(await lm.generate("", { maxNewTokens: 9 }).text(), "abcdefgha");
  });

  test(`${where}: one generation at a time`, async () => {
    const lm = await modelSaying("abcdefgh", { isRemote });
    for await (const _ of lm.generate("", { maxNewTokens: 2 })) {
      await assert.rejects(lm.generate("").text(), { code: "busy" });
      await assert.rejects(lm.reset(), { code: "busy" });
    }
    await lm.reset();
    assert.equal(lm.used, 0);
    // One that nobody reads takes no turn.
    lm.generate("");
    assert.equal(await lm.generate("", { maxNewTokens: 1 }).text(), "a");
  });
}

test("an engine's program lets timers through while it generates", async () => {
  const said = "abc";
  const program = saying(said, { cache: 1 << 20 });
  const { run } = program;
  program.run = (...call) => {
    for (const begin = performance.now(); performance.now() - begin < 3;);
    return run(...call);
  };
  const lm = await openLanguageModel({ program, tokenizer: bytes, contextLength: 1 << 20 });
  const stop = new AbortController();
  setTimeout(() => stop.abort(), 20);
  await assert.rejects(lm.generate("", { signal: stop.signal }).text(), { code: "cancelled" });
});

test("a failed call leaves the model usable", async () => {
  const program = saying("abcdefgh");
  const { run } = program;
  let left = 4;
  program.run = (...call) => {
    if (left-- === 0) throw new Error("no more");
    return run(...call);
  };
  const lm = await openLanguageModel({ program, tokenizer: bytes });
  await assert.rejects(lm.generate("").text(), /no more/);
  assert.equal(await lm.generate("", { maxNewTokens: 4 }).text(), "abcd");
});

// --- The cache -------------------------------------------------------------------------------------------

test("tokens that a prompt shares with the cache are not run again", async () => {
  const program = fakeProgram({ cache: 256, length: 64 });
  const lm = await openLanguageModel({ program, tokenizer: bytes, contextLength: 256 });
  const first = lm.generate("abcdefgh", { maxNewTokens: 4 });
  const answer = await first.text();
  for (const [prompt, reused] of [
    // The token that was chosen last has not been run.
    [`abcdefgh${answer}more`, 12],
    ["abcdefgh", 8],
    ["abcdeXgh", 6],
    ["abcdeXgh", 8],
    ["Yes", 1],
  ] as const) {
    const generation = lm.generate(prompt, { maxNewTokens: 3 });
    program.calls.length = 0;
    const text = await generation.text();
    assert.equal(generation.summary!.reusedTokens, reused, prompt);
    assert.equal(program.calls[0]!.start, reused);
    const ids = expected([1, ...idsOf(prompt)], 3);
    assert.equal(text, bytes.decode(ids), prompt);
  }
});

test("models of one program do not take the cache of another for their own", async () => {
  const program = fakeProgram({ cache: 256, length: 64 });
  const open = (): Promise<LanguageModel> =>
    openLanguageModel({ program, tokenizer: bytes, contextLength: 256 });
  const [a, b] = [await open(), await open()];
  const said = (lm: LanguageModel, prompt: string): Promise<string> =>
    lm.generate(prompt, { maxNewTokens: 3 }).text();
  const wanted = (prompt: string): string => bytes.decode(expected([1, ...idsOf(prompt)], 3));
  for (const [lm, prompt] of [
    [a, "abcdef"],
    [b, "abcxyz"],
    [a, "abcdef"],
    [b, "abcxyz1"],
  ] as const)
    assert.equal(await said(lm, prompt), wanted(prompt), prompt);
  const pieces = a.generate("abcdef", { maxNewTokens: 9 })[Symbol.asyncIterator]();
  await pieces.next();
  await said(b, "other");
  await assert.rejects(pieces.next() as Promise<unknown>, { code: "state" });
  assert.equal(await said(a, "abcdef"), wanted("abcdef"));
});

test("a tokenizer that gives no text is a typed error", async () => {
  const tokenizer = { ...bytes, decode: () => 5 as unknown as string };
  const program = saying("ab");
  const lm = await openLanguageModel({ program, tokenizer, contextLength: 64 });
  await assert.rejects(lm.generate("").text(), { code: "argument" });
});

test("a state that cannot go back is begun anew", async () => {
  const forms: [Form, object][] = [
    [{ ops: ["llama::gated_delta_rule.out"] }, {}],
    [{ ops: ["llama::update_cache_with_indices.out"] }, {}],
    [{ constants: { sliding_window: [16], get_max_seq_len: [64] } }, {}],
    [{}, { canRewind: false }],
  ];
  for (const [form, options] of forms) {
    const program = fakeProgram(form);
    const lm = await openLanguageModel({
      program,
      tokenizer: bytes,
      contextLength: 64,
      ...options,
    });
    const first = await lm.generate("abc", { maxNewTokens: 3 }).text();
    const { resets } = program;
    // To go on is no going back.
    await lm.generate(`abc${first}d`, { maxNewTokens: 2 }).text();
    assert.equal(program.resets, resets);
    await lm.generate("abX", { maxNewTokens: 2 }).text();
    assert.equal(program.resets, resets + 1);
  }
});

// --- Choosing --------------------------------------------------------------------------------------------

/** A model with fixed scores. */
async function scored(
  scores: Readonly<Record<number, number>>,
  rest = -20,
): Promise<LanguageModel> {
  const program = fakeProgram({ cache: 1 << 16, length: 16 });
  const row = Float32Array.from({ length: VOCABULARY }, (_, id) => scores[id] ?? rest);
  program.run = () => [{ dtype: "float32", shape: [1, VOCABULARY], data: row.slice() }];
  const tokenizer = { encode: () => [1], decode: () => "" };
  return openLanguageModel({ program, tokenizer, contextLength: 1 << 16 });
}

/** How often each token was chosen. */
async function counts(
  lm: LanguageModel,
  options: GenerateOptions,
  total = 4000,
): Promise<Map<number, number>> {
  const counted = new Map<number, number>();
  const all = { temperature: 1, seed: 5, maxNewTokens: total, ...options };
  for await (const { tokens } of lm.generate("", all))
    for (const token of tokens) counted.set(token, (counted.get(token) ?? 0) + 1);
  return counted;
}

const chosen = async (lm: LanguageModel, options: GenerateOptions): Promise<number[]> =>
  [...(await counts(lm, options)).keys()].sort((a, b) => a - b);

test("temperature 0 takes the first of the greatest scores", async () => {
  const lm = await scored({ 7: 3, 9: 3, 200: 2 });
  assert.deepEqual(await chosen(lm, { temperature: 0, maxNewTokens: 9 }), [7]);
});

test("tokens are chosen as often as their probabilities say", async () => {
  const lm = await scored({ 10: Math.log(0.5), 20: Math.log(0.3), 30: Math.log(0.2) }, -Infinity);
  for (const options of [{}, { topK: 3 }, { topP: 0.999 }, { minP: 0.001 }]) {
    const found = await counts(lm, options, 20_000);
    for (const [token, share] of [
      [10, 0.5],
      [20, 0.3],
      [30, 0.2],
    ] as const)
      assert.ok(
        Math.abs((found.get(token) ?? 0) / 20_000 - share) < 0.02,
        `${token}: ${found.get(token)}`,
      );
    assert.equal(found.size, 3);
  }
  const cold = await counts(lm, { temperature: 0.5 }, 20_000);
  // Squares, and their sum.
  assert.ok(Math.abs(cold.get(10)! / 20_000 - 0.25 / 0.38) < 0.02);
});

test("topK, topP and minP leave the likely tokens", async () => {
  const lm = await scored(
    { 10: Math.log(0.5), 20: Math.log(0.25), 30: Math.log(0.15), 40: Math.log(0.1) },
    -Infinity,
  );
  for (const [options, ids] of [
    [{ topK: 1 }, [10]],
    [{ topK: 2 }, [10, 20]],
    [{ topK: 0 }, [10, 20, 30, 40]],
    [{ topK: 1000 }, [10, 20, 30, 40]],
    [{ topP: 0.5 }, [10]],
    [{ topP: 0.6 }, [10, 20]],
    [{ topP: 0.76 }, [10, 20, 30]],
    [{ topP: 1e-9 }, [10]],
    [{ minP: 1 }, [10]],
    [{ minP: 0.4 }, [10, 20]],
    [{ minP: 0.25 }, [10, 20, 30]],
    [{ topK: 3, topP: 0.8 }, [10, 20]],
    [{ topP: 0.95, minP: 0.4 }, [10, 20]],
  ] as const)
    assert.deepEqual(await chosen(lm, options), ids, JSON.stringify(options));
  const flat = await scored({}, 0);
  assert.deepEqual(await chosen(flat, { topK: 3 }), [0, 1, 2]);
  assert.equal((await chosen(flat, {})).length, VOCABULARY);
  assert.equal((await chosen(flat, { topP: 0.5 })).length, VOCABULARY / 2);
});

test("topK equals a sort, for scores at random", async () => {
  const random = generatorOf(7);
  for (let round = 0; round < 20; round++) {
    const scores = Array.from({ length: VOCABULARY }, () => random(60) / 10);
    const lm = await scored(Object.fromEntries(scores.entries()));
    const topK = 1 + random(40);
    const sorted = [...scores.keys()].sort((a, b) => scores[b]! - scores[a]! || a - b);
    const found = await counts(lm, { topK, temperature: 5 }, 2000);
    const allowed = new Set(sorted.slice(0, topK));
    for (const id of found.keys()) assert.ok(allowed.has(id), `${id} of ${topK}`);
    if (topK < 20) assert.equal(found.size, topK);
  }
});

test("the same seed gives the same tokens, in the official runner's numbers", async () => {
  const lm = await scored(
    Object.fromEntries(Array.from({ length: 16 }, (_, id) => [id, 0])),
    -Infinity,
  );
  const drawn = async (seed: number | bigint): Promise<number[]> => {
    const tokens: number[] = [];
    const options = { temperature: 1, seed, maxNewTokens: 6 };
    for await (const piece of lm.generate("", options)) tokens.push(...piece.tokens);
    return tokens;
  };
  assert.deepEqual(await drawn(1), await drawn(1n));
  assert.notDeepEqual(await drawn(1), await drawn(2));
  // xorshift64* of the seed 1 by hand: the upper bits of 0x47e4ce4b896cdd1d come first.
  assert.equal((await drawn(1))[0], 0x4);
  assert.equal((await drawn(0)).length, 6);
});

test("a penalty on repetition lowers the scores of tokens that the text has", async () => {
  const lm = await scored({ 10: 4, 20: 3, 30: 2.5, 40: -1 }, -50);
  const tokens: number[] = [];
  const options = { repetitionPenalty: 2, maxNewTokens: 4 };
  for await (const piece of lm.generate("", options)) tokens.push(...piece.tokens);
  assert.deepEqual(tokens, [10, 20, 30, 10]);
});
