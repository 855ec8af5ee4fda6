// Speech to text: windows and segments by a program that says what its sound tells it to, the features
// against a plain Fourier transform, and files of WAVE.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { InputValue, ProgramMethodInfo, ProgramValueInfo, SconceError, Tensor } from "sconce";
import {
  decodeWav,
  openSpeechModel,
  type LanguageProgram,
  type SpeechModel,
  type SpeechModelOptions,
  type SpeechSegment,
  type TextTokenizer,
  type TranscribeOptions,
} from "sconce/llm";
import { SPECIAL } from "./special_tokens.js";

const [END, BEGIN, EN, DE, TRANSLATE, TRANSCRIBE, SILENT, PLAIN] = SPECIAL.map(
  (_, i) => 256 + i,
) as [number, number, number, number, number, number, number, number];
const TIME = 256 + SPECIAL.length;
const VOCABULARY = TIME + 1501;
const RATE = 16_000;

const tokenizer: TextTokenizer = {
  encode: (text) => Array.from(Buffer.from(text)),
  decode: (ids) => Buffer.from(ids).toString(),
  tokenId: (text) => {
    const at = SPECIAL.findIndex((name) => text === `<|${name}|>`);
    return at < 0 ? undefined : 256 + at;
  },
};

const at = (seconds: number): number => TIME + Math.round(seconds / 0.02);
const say = (text: string): number[] => [...Buffer.from(text)];

/** The tokens that a window says, by the second at which it begins. */
type Script = Readonly<Record<number, readonly number[]>>;

interface Form {
  kind?: "samples" | "features";
  isCached?: boolean;
  /** The scripts of later attempts at a window. */
  again?: readonly Script[];
  /** The score of what is said; others have 0. */
  score?: number;
  /** Scores of the first call. */
  first?: Readonly<Record<number, number>>;
}

interface Fake extends LanguageProgram {
  readonly begins: number[];
  readonly prompts: number[][];
  readonly methods: ProgramMethodInfo[];
}

/** A program whose sound has its own second as its value. */
function hearing(
  script: Script,
  { kind = "samples", isCached = true, first = {}, again = [], score = 30 }: Form = {},
): Fake {
  const info = (name: string, dtype: "float32" | "int64", shape: number[]): ProgramValueInfo => ({
    name,
    kind: "tensor",
    dtype,
    shape,
    dynamic: !isCached && dtype === "int64",
  });
  const method = (
    name: string,
    inputs: ProgramValueInfo[],
    outputs: ProgramValueInfo[],
  ): ProgramMethodInfo => ({
    ...{ name, inputs, outputs, plannedBytes: [], instructions: 1, ops: {}, delegates: [] },
    ...{ parts: [], externalData: [] },
  });
  const states = info("states", "float32", [1, 2, 2]);
  const tokens = info("tokens", "int64", [1, isCached ? 1 : 64]);
  const sound = info("sound", "float32", kind === "samples" ? [480_000] : [1, 80, 3000]);
  const length = isCached ? 1 : 64;
  const position = isCached ? [info("cache_position", "int64", [1])] : [];
  const fake: Fake = {
    begins: [],
    prompts: [],
    methods: [
      method("encoder", [sound], [states]),
      method(
        isCached ? "text_decoder" : "decoder",
        [tokens, states, ...position],
        [info("logits", "float32", [1, length, VOCABULARY])],
      ),
    ],
    inspect: () => ({ methods: fake.methods }),
    run: (name, inputs) => (name === "encoder" ? encode(inputs) : decode(inputs)),
    reset: () => {
      held = [];
    },
  };
  let held: number[] = [];
  let attempts = 0;
  function encode([given]: readonly InputValue[]): Tensor[] {
    const { shape, data } = given as Tensor;
    assert.deepEqual(shape, sound.shape);
    const begin = kind === "samples" ? Math.round((data as Float32Array)[0]! * 1000) : 0;
    fake.begins.push(begin);
    attempts = 0;
    return [{ dtype: "float32", shape: [1, 2, 2], data: Float32Array.of(begin, 0, 0, 0) }];
  }
  function decode([ids, hidden, place]: readonly InputValue[]): Tensor[] {
    const given = Array.from((ids as Tensor).data, Number);
    if (isCached) {
      // Another attempt goes back to the end of the prompt, or begins anew.
      const position = Number((place as Tensor).data[0]);
      assert.ok(position <= held.length);
      held.length = position;
      held.push(...given);
    } else held = given;
    const begin = Number((hidden as Tensor).data[0]);
    const prompt = held.findIndex((token, i) => i > 0 && (token < END || token >= TIME));
    const said = prompt < 0 ? 0 : held.length - prompt;
    if (said === 1) {
      fake.prompts.push(held.slice(0, prompt));
      attempts++;
    }
    const data = new Float32Array(given.length * VOCABULARY);
    const row = data.subarray(data.length - VOCABULARY);
    const says = again[attempts - (said > 0 ? 2 : 1)] ?? script;
    row[(says[begin] ?? [])[said] ?? END] = score;
    if (held.length === 1) for (const [id, score] of Object.entries(first)) row[Number(id)] = score;
    return [{ dtype: "float32", shape: [1, given.length, VOCABULARY], data }];
  }
  return fake;
}

/** Sound whose samples have the second in which they lie as their value, in thousandths. */
const soundOf = (seconds: number): Float32Array =>
  Float32Array.from({ length: seconds * RATE }, (_, i) => Math.floor(i / RATE) / 1000);

const opened = (program: LanguageProgram, more: object = {}): Promise<SpeechModel> =>
  openSpeechModel({ program, tokenizer, ...more } as SpeechModelOptions);

const plain = (segments: readonly SpeechSegment[]): [number, number, string][] =>
  segments.map(({ start, end, text }) => [start, end, text]);

test("segments have times, and windows follow each other", async () => {
  for (const form of [{}, { isCached: false }]) {
    const program = hearing(
      {
        0: [at(0), ...say(" one"), at(2), at(2), ...say(" two"), at(5)],
        30: [at(1), ...say(" three"), at(3)],
      },
      form,
    );
    const { segments, text, language } = await (
      await opened(program)
    )
      .transcribe(soundOf(40), { language: "en" })
      .result();
    assert.deepEqual(plain(segments), [
      [0, 2, " one"],
      [2, 5, " two"],
      [31, 33, " three"],
    ]);
    assert.equal(text, "one two three");
    assert.equal(language, "en");
    assert.deepEqual(program.begins, [0, 30]);
    assert.deepEqual(program.prompts[0], [BEGIN, EN, TRANSCRIBE]);
  }
});

test("a window that ends within a segment is heard again from there", async () => {
  const program = hearing({
    0: [at(0), ...say(" one"), at(12), at(12), ...say(" tw")],
    12: [at(0), ...say(" two"), at(4)],
  });
  const { segments } = await (await opened(program)).transcribe(soundOf(30)).result();
  assert.deepEqual(plain(segments), [
    [0, 12, " one"],
    [12, 16, " two"],
  ]);
  assert.deepEqual(program.begins, [0, 12]);
});

test("without times, each window is a segment", async () => {
  const program = hearing({ 0: say(" one"), 30: say(" two") });
  const speech = await opened(program);
  const { segments } = await speech.transcribe(soundOf(45), { timestamps: false }).result();
  assert.deepEqual(plain(segments), [
    [0, 30, " one"],
    [30, 45, " two"],
  ]);
  assert.deepEqual(program.prompts[0], [BEGIN, EN, TRANSCRIBE, PLAIN]);
});

test("the model recognises the language, and translates", async () => {
  const program = hearing({ 0: [at(0), ...say(" hi"), at(1)] }, { first: { [DE]: 5, [EN]: 3 } });
  const speech = await opened(program);
  assert.deepEqual(speech.languages, ["en", "de"]);
  const { language } = await speech.transcribe(soundOf(2), { task: "translate" }).result();
  assert.equal(language, "de");
  assert.deepEqual(program.prompts[0], [BEGIN, DE, TRANSLATE]);
  assert.throws(() => speech.transcribe(soundOf(1), { language: "xx" }), { code: "option" });
  assert.throws(() => speech.transcribe(soundOf(1), { task: "sing" as never }), { code: "option" });
  const alone: TextTokenizer = {
    ...tokenizer,
    tokenId: (text) =>
      ["en", "de", "translate", "transcribe"].includes(text.slice(2, -2))
        ? undefined
        : tokenizer.tokenId!(text),
  };
  const english = await opened(hearing({ 0: [at(0), ...say(" hi"), at(1)] }), { tokenizer: alone });
  assert.deepEqual(english.languages, []);
  const heard = await english.transcribe(soundOf(2)).result();
  assert.deepEqual([heard.text, heard.language], ["hi", undefined]);
  assert.throws(() => english.transcribe(soundOf(1), { language: "en" }), { code: "option" });
});

test("silence has no segments", async () => {
  // Every token is as likely as any other, so that the text is unlikely.
  const program = hearing({}, { first: { [SILENT]: 40 } });
  const { run } = program;
  program.run = (name, inputs, options) => {
    const [output] = run(name, inputs, options) as [Tensor];
    if (name !== "encoder" && output.data[SILENT] !== 40) (output.data as Float32Array).fill(1);
    return [output];
  };
  const speech = await opened(program);
  assert.deepEqual((await speech.transcribe(soundOf(31)).result()).segments, []);
  assert.deepEqual((await speech.transcribe(new Float32Array(0)).result()).segments, []);
});

test("a window never has more than 224 tokens, and times never go back", async () => {
  const loop = [at(4), ...say("a".repeat(500))];
  const speech = await opened(hearing({ 0: loop }));
  const [segment, ...others] = (await speech.transcribe(soundOf(10)).result()).segments;
  assert.equal(segment!.tokens.length, 223);
  assert.equal(others.length, 0);
  // A time before the last one, and a text in the place of the second time of a pair.
  const back = hearing({ 0: [at(1), ...say("a"), at(5), at(2), ...say("b")] });
  const { segments } = await (await opened(back)).transcribe(soundOf(6)).result();
  for (const { start, end } of segments) assert.ok(start <= end && end <= 6, `${start} ${end}`);
});

const repeated = { 0: [at(0), ...say(" la".repeat(40)), at(3)] };

test("a text that repeats itself is written again at a higher temperature", async () => {
  for (const isCached of [true, false]) {
    const again = [repeated, { 0: [at(0), ...say(" fine"), at(2)] }];
    const program = hearing(repeated, { again, isCached });
    const speech = await opened(program);
    const { segments } = await speech.transcribe(soundOf(4), { seed: 1 }).result();
    assert.deepEqual(plain(segments), [[0, 2, " fine"]]);
    assert.equal(segments[0]!.temperature, 0.4);
    // "fine" packs into twelve bytes.
    assert.equal(segments[0]!.compressionRatio, 4 / 12);
    assert.deepEqual(program.begins, [0]);
    assert.deepEqual(program.prompts, new Array(3).fill([BEGIN, EN, TRANSCRIBE]));
  }
});

test("the attempts and their limits are options, and the last attempt stays", async () => {
  const attempts = async (options: TranscribeOptions): Promise<[number, number | undefined]> => {
    const program = hearing(repeated);
    const speech = await opened(program);
    const { segments } = await speech.transcribe(soundOf(4), { seed: 1, ...options }).result();
    return [program.prompts.length, segments[0]?.temperature];
  };
  assert.deepEqual(await attempts({}), [6, 1]);
  assert.deepEqual(await attempts({ temperature: [0, 0.5] }), [2, 0.5]);
  assert.deepEqual(await attempts({ temperature: 0.3 }), [1, 0.3]);
  assert.deepEqual(await attempts({ compressionRatioThreshold: null }), [1, 0]);
  assert.deepEqual(await attempts({ compressionRatioThreshold: 1000 }), [1, 0]);
  const speech = await opened(hearing({}));
  const wrong: readonly object[] = [
    ...[-1, NaN, [], [0, -1], new Array(17).fill(0), "0"].map((temperature) => ({ temperature })),
    { compressionRatioThreshold: NaN },
    { logProbabilityThreshold: "1" },
    { noSpeechThreshold: Infinity },
    { seed: -1 },
  ];
  for (const options of wrong)
    assert.throws(() => speech.transcribe(soundOf(1), options), { code: "option" });
});

test("an unlikely text is written again, unless there is silence", async () => {
  const unlikely = { 0: say(" hm") };
  const heard = async (
    first: Readonly<Record<number, number>>,
    options: TranscribeOptions = {},
  ): Promise<[number, SpeechSegment[]]> => {
    const program = hearing(unlikely, { score: 4, first });
    const speech = await opened(program);
    const all = { timestamps: false, temperature: [0, 0], ...options };
    const { segments } = await speech.transcribe(soundOf(2), all).result();
    return [program.prompts.length, [...segments]];
  };
  const [count, [segment]] = await heard({});
  assert.equal(count, 2);
  assert.equal(segment!.text, " hm");
  assert.ok(segment!.meanLogProbability < -1);
  assert.equal((await heard({}, { logProbabilityThreshold: -20 }))[0], 1);
  assert.equal((await heard({}, { logProbabilityThreshold: null }))[0], 1);
  const silence = { [SILENT]: 40 };
  assert.deepEqual(await heard(silence), [1, []]);
  const [twice, [kept]] = await heard(silence, { noSpeechThreshold: null });
  assert.equal(twice, 2);
  assert.ok(kept!.noSpeechProbability > 0.99);
  // Without a limit for unlikely texts, silence alone decides.
  assert.deepEqual(await heard(silence, { logProbabilityThreshold: null }), [1, []]);
});

test("the same seed gives the same text", async () => {
  // All texts are as likely as each other.
  const texts = [7, 7, 8].map(async (seed) => {
    const speech = await opened(hearing({}, { score: 0 }));
    const options = { temperature: 1, seed, timestamps: false };
    return (await speech.transcribe(soundOf(2), options).result()).segments[0]!.tokens;
  });
  const [one, same, other] = await Promise.all(texts);
  assert.deepEqual(one, same);
  assert.notDeepEqual(one, other);
});

test("one transcription at a time, and readers may leave", async () => {
  const script = { 0: [at(0), ...say(" a"), at(1), at(1), ...say(" b"), at(2)] };
  const speech = await opened(hearing(script));
  const hearingIt = speech.transcribe(soundOf(3));
  for await (const _ of hearingIt) {
    await assert.rejects(speech.transcribe(soundOf(3)).result(), { code: "busy" });
    break;
  }
  assert.throws(() => hearingIt[Symbol.asyncIterator](), { code: "state" });
  assert.equal((await speech.transcribe(soundOf(3)).result()).text, "a b");
  const signal = AbortSignal.abort();
  await assert.rejects(speech.transcribe(soundOf(3), { signal }).result(), { code: "cancelled" });
});

test("programs and tokenizers of other kinds are refused", async () => {
  const changes: ((methods: ProgramMethodInfo[]) => void)[] = [
    (methods) => (methods[0]!.name = "other"),
    (methods) => (methods[1]!.name = "other"),
    (methods) => (methods[0]!.inputs[0]!.shape = [2, 80, 3000]),
    (methods) => (methods[0]!.inputs[0]!.dtype = "int64"),
    (methods) => methods[0]!.inputs.push(methods[0]!.inputs[0]!),
    (methods) => methods[1]!.inputs.splice(1, 1),
    (methods) => (methods[1]!.outputs.length = 0),
  ];
  for (const change of changes) {
    const program = hearing({});
    change(program.methods);
    await assert.rejects(opened(program), (error: SconceError) => {
      assert.equal(error.code, "unsupported", error.message);
      assert.notEqual(error.hint, "");
      return true;
    });
  }
  const other = { ...tokenizer, tokenId: () => undefined };
  await assert.rejects(opened(hearing({}), { tokenizer: other }), { code: "argument" });
  const large = { ...tokenizer, tokenId: (text: string) => (tokenizer.tokenId!(text) ?? 0) + 9999 };
  await assert.rejects(opened(hearing({}), { tokenizer: large }), { code: "argument" });
  const speech = await opened(hearing({}));
  for (const sound of [
    null,
    [1],
    { samples: new Float32Array(1) },
    { samples: [], sampleRate: 8000 },
  ])
    assert.throws(() => speech.transcribe(sound as never), { code: "argument" });
});

// --- Features --------------------------------------------------------------------------------------------

/** The frame of a spectrogram by its definition. */
function powerOf(samples: Float32Array, frame: number): number[] {
  const value = (i: number): number => samples[Math.abs(frame * 160 - 200 + i)] ?? 0;
  return Array.from({ length: 201 }, (_, bin) => {
    let [re, im] = [0, 0];
    for (let i = 0; i < 400; i++) {
      const x = value(i) * (0.5 - 0.5 * Math.cos((2 * Math.PI * i) / 400));
      re += x * Math.cos((2 * Math.PI * bin * i) / 400);
      im -= x * Math.sin((2 * Math.PI * bin * i) / 400);
    }
    return re ** 2 + im ** 2;
  });
}

test("features are those of Whisper: a mel spectrogram by its definition", async () => {
  const samples = Float32Array.from(
    { length: RATE },
    (_, i) =>
      Math.sin(i * 0.3) * 0.5 + Math.sin(i * 0.01) * 0.2 + (((i * 7919) % 101) / 101 - 0.5) * 0.1,
  );
  let given: Tensor | undefined;
  const program = hearing({}, { kind: "features" });
  const { run } = program;
  program.run = (name, inputs, options) => {
    if (name === "encoder") given = inputs[0] as Tensor;
    return run(name, inputs, options);
  };
  await (await opened(program)).transcribe(samples).result();
  const features = given!.data as Float32Array;
  const greatest = features.reduce((a, b) => Math.max(a, b));
  // The sound ends after 100 frames, and silence is 8 (in tens of the logarithm) below the loudest.
  assert.ok(Math.abs(features[2000]! - (greatest - 2)) < 1e-6);
  const hertz = (mel: number): number =>
    mel < 15 ? (mel * 200) / 3 : 1000 * 6.4 ** ((mel - 15) / 27);
  const most = 15 + (Math.log(8) / Math.log(6.4)) * 27;
  for (const frame of [0, 1, 2, 37, 90, 99]) {
    const power = powerOf(samples, frame);
    for (const band of [0, 1, 20, 40, 79]) {
      const [low, middle, high] = [0, 1, 2].map((i) => hertz((most * (band + i)) / 81)) as [
        number,
        number,
        number,
      ];
      let sum = 0;
      power.forEach((value, bin) => {
        const f = bin * 40;
        const weight = Math.max(
          0,
          Math.min((f - low) / (middle - low), (high - f) / (high - middle)),
        );
        sum += (value * weight * 2) / (high - low);
      });
      const wanted = Math.max(Math.log10(Math.max(sum, 1e-10)), greatest * 4 - 4 - 8);
      const found = features[band * 3000 + frame]! * 4 - 4;
      assert.ok(Math.abs(found - wanted) < 1e-4, `${frame} ${band}: ${found} and not ${wanted}`);
    }
  }
});

test("a program may compute the features", async () => {
  let asked: Tensor | undefined;
  const features: LanguageProgram = {
    inspect: () => ({ methods: [] }),
    run: (_, [input]) => {
      asked = input as Tensor;
      return [{ dtype: "float32", shape: [1, 80, 3000], data: new Float32Array(240_000).fill(3) }];
    },
    reset: () => undefined,
  };
  const program = hearing({ 0: [at(0), ...say(" a"), at(1)] }, { kind: "features" });
  const speech = await opened(program, { features });
  assert.equal((await speech.transcribe(soundOf(1)).result()).text, "a");
  assert.deepEqual(asked!.shape, [480_000]);
  const wrong = { ...features, run: () => [3] };
  const other = await opened(program, { features: wrong });
  await assert.rejects(other.transcribe(soundOf(1)).result(), { code: "mismatch" });
});

test("sound of other rates keeps its tones", async () => {
  for (const sampleRate of [8000, 22_050, 44_100, 48_000]) {
    const samples = Float32Array.from({ length: sampleRate }, (_, i) =>
      Math.sin((2 * Math.PI * 440 * i) / sampleRate),
    );
    let given: Float32Array = new Float32Array(0);
    const program = hearing({});
    const { run } = program;
    program.run = (name, inputs, options) => {
      if (name === "encoder") given = (inputs[0] as Tensor).data as Float32Array;
      return run(name, inputs, options);
    };
    await (await opened(program)).transcribe({ samples, sampleRate }).result();
    for (let i = 1000; i < RATE - 1000; i += 37) {
      const wanted = Math.sin((2 * Math.PI * 440 * i) / RATE);
      assert.ok(Math.abs(given[i]! - wanted) < 0.01, `${sampleRate} ${i}: ${given[i]} ${wanted}`);
    }
  }
});

// --- WAVE ------------------------------------------------------------------------------------------------

/** A file of WAVE, of these frames. */
function wav(format: number, bits: number, frames: readonly number[][], sampleRate = 8000): Buffer {
  const channels = frames[0]!.length;
  const data = Buffer.alloc((frames.length * channels * bits) / 8);
  frames.flat().forEach((value, i) => {
    const place = (i * bits) / 8;
    if (format === 3)
      return bits === 32 ? data.writeFloatLE(value, place) : data.writeDoubleLE(value, place);
    if (bits === 8) return data.writeUInt8(Math.round(value * 128) + 128, place);
    return data.writeIntLE(Math.round(value * 2 ** (bits - 1)), place, bits / 8);
  });
  const head = Buffer.alloc(36);
  head.write("RIFF");
  head.writeUInt32LE(36 + data.length, 4);
  head.write("WAVEfmt ", 8);
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(format, 20);
  head.writeUInt16LE(channels, 22);
  head.writeUInt32LE(sampleRate, 24);
  head.writeUInt16LE((channels * bits) / 8, 32);
  head.writeUInt16LE(bits, 34);
  const list = Buffer.from("LIST\x03\x00\x00\x00abc\x00", "latin1");
  const size = Buffer.alloc(8);
  size.write("data");
  size.writeUInt32LE(data.length, 4);
  return Buffer.concat([head, list, size, data]);
}

test("files of WAVE are read in all plain formats, and channels become their mean", () => {
  const frames = [
    [0, 0],
    [0.5, 0.25],
    [-0.5, -0.25],
    [-1, 0.5],
  ];
  for (const [format, bits] of [
    [1, 8],
    [1, 16],
    [1, 24],
    [1, 32],
    [3, 32],
    [3, 64],
  ] as const) {
    const { samples, sampleRate } = decodeWav(wav(format, bits, frames));
    assert.equal(sampleRate, 8000);
    assert.deepEqual([...samples], [0, 0.375, -0.375, -0.25], `${format} ${bits}`);
  }
});

test("a file of WAVE that is cut or wrong is refused, or is shorter", () => {
  const file = wav(1, 16, [[0.5], [0.25], [0.125]]);
  for (let size = 0; size < file.length; size++) {
    try {
      const { samples } = decodeWav(file.subarray(0, size));
      assert.ok(samples.length < 3 && size > 50, `${size}`);
    } catch (error) {
      assert.equal((error as SconceError).code, "format", `${size}`);
    }
  }
  for (const [place, value] of [
    [20, 85],
    [22, 0],
    [34, 12],
    [16, 4],
  ] as const) {
    const wrong = Buffer.from(file);
    wrong.writeUInt16LE(value, place);
    assert.throws(() => decodeWav(wrong), { code: "format" }, `${place}`);
  }
});
