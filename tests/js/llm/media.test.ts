// Pictures and sound in prompts: the rows of an encoder take the places of those of the table.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { DType, InputValue, ProgramMethodInfo, ProgramValueInfo, Tensor, Value } from "sconce";
import {
  openLanguageModel,
  type LanguageModel,
  type LanguageModelOptions,
  type MessagePart,
  type Prompt,
} from "sconce/llm";
import { bytes, EOS, fakeProgram, idsOf, type Form } from "./fake.js";

const WIDTH = 2;
const IMAGE = 280;
const AUDIO = 281;

interface Seen {
  /** The first number of each row that the decoder was given. */
  readonly rows: number[];
  /** The inputs of the encoders. */
  readonly inputs: InputValue[];
}

/** A program with encoders: a picture becomes three rows of its first number, sound two rows. */
function seeing(
  form: Form = {},
  {
    dtype = "float32" as DType,
    shape = [1, 3, 2, 2],
    rowType = "float32" as DType,
    width = WIDTH,
  } = {},
): { program: ReturnType<typeof fakeProgram>; seen: Seen } {
  const all = { methods: "split" as const, length: 64, cache: 256, ...form };
  const program = fakeProgram(all, () => EOS);
  const seen: Seen = { rows: [], inputs: [] };
  const info = (name: string, type: DType, sizes: number[]): ProgramValueInfo => ({
    ...{ name, kind: "tensor", dtype: type, shape: sizes, dynamic: false },
  });
  const method = (name: string, input: ProgramValueInfo, rows: number): ProgramMethodInfo => ({
    ...{ name, inputs: [input], outputs: [info("rows", rowType, [1, rows, width])] },
    ...{ plannedBytes: [], instructions: 1, ops: {}, delegates: [], parts: [], externalData: [] },
  });
  program.methods.push(
    method("vision_encoder", info("image", dtype, shape), 3),
    method("audio_encoder", info("mel", "float32", [1, 80, 3000]), 2),
  );
  const { run } = program;
  program.run = (name, inputs, options) => {
    if (/_encoder$/.test(name)) {
      seen.inputs.push(inputs[0]!);
      const rows = name === "vision_encoder" ? 3 : 2;
      const first = Number((inputs[0] as Tensor).data[0]);
      const data = new Float32Array(rows * width).map((_, i) => Math.round(first) + i / 8);
      if (rowType === "float32") return [{ dtype: "float32", shape: [1, rows, width], data }];
      const bits = Uint16Array.from(new Uint32Array(data.buffer), (word) => word >>> 16);
      return [{ dtype: "bfloat16", shape: [rows, width], data: bits }] as Value[];
    }
    if (name !== "text_decoder") return run(name, inputs, options);
    const { data } = inputs[0] as Tensor;
    for (let i = 0; i < data.length; i += WIDTH) seen.rows.push(Number(data[i]));
    return run(name, inputs, options);
  };
  return { program, seen };
}

const constants = {
  get_max_seq_len: [256],
  image_token_id: [IMAGE],
  audio_token_id: [AUDIO],
  image_mean: [0.5, 0.5, 0.5],
  image_std: [0.5, 0.5, 0.5],
};

/** Writes a character for each part, which the tokenizer makes its token. */
const template: LanguageModelOptions["chatTemplate"] = (messages) =>
  messages
    .flatMap<string | MessagePart>(({ content }) => content)
    .map((part) => {
      if (typeof part === "string") return part;
      return part.type === "text" ? part.text : part.type === "image" ? "\u0001" : "\u0002";
    })
    .join("");

const tokenizer = {
  ...bytes,
  vocabularySize: 290,
  encode: (text: string, options?: object) =>
    Array.from(bytes.encode(text, options) as number[], (id) =>
      id === 4 ? IMAGE : id === 5 ? AUDIO : id,
    ),
  tokenId: (text: string) => (text === "<image>" ? IMAGE : undefined),
};

const opened = (
  program: ReturnType<typeof fakeProgram>,
  options: Partial<LanguageModelOptions> = {},
): Promise<LanguageModel> =>
  openLanguageModel({ program, tokenizer, chatTemplate: template, ...options });

const picture = (value: number): { data: Uint8Array; width: number; height: number } => ({
  data: new Uint8Array(12).fill(value),
  width: 2,
  height: 2,
});
const image = (value: number): MessagePart => ({ type: "image", image: picture(value) });
const text = (words: string): MessagePart => ({ type: "text", text: words });

const tensor: Tensor = {
  dtype: "float32",
  shape: [1, 3, 2, 2],
  data: new Float32Array(12).fill(7),
};

test("a picture's rows take the place of its token", async () => {
  for (const isDynamic of [true, false]) {
    const form = { constants, isDynamic, length: isDynamic ? 64 : 1 };
    const { program, seen } = seeing(form);
    const lm = await opened(program);
    const parts: MessagePart[] = [text("ab"), { type: "image", image: tensor }, text("c")];
    const prompt: Prompt = [{ role: "user", content: parts }];
    assert.equal(lm.tokenCount(prompt), 6);
    const generation = lm.generate(prompt);
    await generation.text();
    assert.equal(generation.summary!.promptTokens, 6);
    const rows = [...idsOf("ab"), 7, 7.25, 7.5, ...idsOf("c")];
    assert.deepEqual(seen.rows, rows);
    assert.equal(seen.inputs[0], tensor);
  }
});

test("parts without a template come in their order", async () => {
  const { program, seen } = seeing({ constants });
  const lm = await opened(program);
  await lm.generate([text("a"), { type: "image", image: tensor }, text("b")]).text();
  assert.deepEqual(seen.rows, [1, ...idsOf("a"), 7, 7.25, 7.5, ...idsOf("b")]);
});

test("pictures become the encoder's tensor: its size, its dtype, the program's mean", async () => {
  const { program, seen } = seeing({ constants });
  await (await opened(program)).generate([image(255)]).text();
  const given = seen.inputs[0] as Tensor;
  assert.deepEqual([given.dtype, given.shape], ["float32", [1, 3, 2, 2]]);
  assert.deepEqual([...new Set(given.data as Float32Array)], [1]);
  const plain = seeing({ constants }, { dtype: "uint8", shape: [3, 2, 2] });
  await (await opened(plain.program)).generate([image(200)]).text();
  assert.deepEqual((plain.seen.inputs[0] as Tensor).shape, [3, 2, 2]);
  assert.equal((plain.seen.inputs[0] as Tensor).data[0], 200);
  const { image_mean: _, ...rest } = constants;
  const bare = seeing({ constants: rest });
  await assert.rejects((await opened(bare.program)).generate([image(1)]).text(), {
    code: "option",
  });
  const own = seeing({ constants: rest });
  const lm = await opened(own.program, { imageOptions: { mean: 0, std: 0.5 } });
  await lm.generate([image(255)]).text();
  assert.equal((own.seen.inputs[0] as Tensor).data[0], 2);
});

test("rows of another float type become that of the table", async () => {
  const { program, seen } = seeing({ constants }, { rowType: "bfloat16" });
  await (await opened(program)).generate([{ type: "image", image: tensor }]).text();
  assert.deepEqual(seen.rows, [7, 7.25, 7.5]);
});

test("sound becomes features, and its rows take their places", async () => {
  const { program, seen } = seeing({ constants });
  const sound = { samples: new Float32Array(8000).fill(0.5), sampleRate: 8000 };
  const prompt: MessagePart[] = [text("a"), { type: "audio", audio: sound }];
  await (await opened(program)).generate([{ role: "user", content: prompt }]).text();
  const given = seen.inputs[0] as Tensor;
  assert.deepEqual(given.shape, [1, 80, 3000]);
  assert.equal(seen.rows.length, 3);
  const long: MessagePart[] = [{ type: "audio", audio: new Float32Array(31 * 16_000) }];
  await assert.rejects((await opened(program)).generate(long).text(), { code: "limit" });
});

test("a conversation encodes a picture once, and keeps its rows in the cache", async () => {
  const { program, seen } = seeing({ constants });
  const talk = (await opened(program)).chat();
  const first = talk.send([text("a"), { type: "image", image: tensor }]);
  await first.text();
  const second = talk.send("b");
  await second.text();
  assert.equal(seen.inputs.length, 1);
  assert.equal(second.summary!.reusedTokens, 4);
  // Another picture is another prefix.
  const other = { ...tensor, data: tensor.data.slice() } as Tensor;
  const third = (await opened(program)).generate([text("a"), { type: "image", image: other }]);
  await third.text();
  assert.equal(seen.inputs.length, 2);
});

test("templates of Jinja see the types of parts", async () => {
  const { program, seen } = seeing({ constants });
  const jinja =
    "{% for message in messages %}{% for part in message['content'] %}" +
    "{% if part['type'] == 'image' %}\u0001{% else %}{{ part['text'] }}{% endif %}{% endfor %}{% endfor %}";
  const lm = await opened(program, { chatTemplate: jinja });
  await lm
    .generate([{ role: "user", content: [{ type: "image", image: tensor }, text("b")] }])
    .text();
  assert.deepEqual(seen.rows, [7, 7.25, 7.5, ...idsOf("b")]);
  // Text alone comes as parts, too.
  assert.equal(lm.tokenCount([{ role: "user", content: "abc" }]), 3);
});

test("parts that have no place, and programs that cannot see, are errors", async () => {
  const { image_token_id: _, ...rest } = constants;
  const { program } = seeing({ constants: rest });
  const lm = await opened(program);
  const message = { role: "user", content: [{ type: "image" as const, image: tensor }] };
  await assert.rejects(lm.generate([message]).text(), {
    code: "argument",
    hint: /imageToken/,
  } as never);
  const named = await opened(seeing({ constants: rest }).program, { imageToken: "<image>" });
  await named.generate([message]).text();
  await assert.rejects(opened(program, { imageToken: "<none>" }), { code: "option" });
  const blind = await opened(fakeProgram({ methods: "split", constants, length: 64 }));
  await assert.rejects(blind.generate([message]).text(), { code: "unsupported" });
  const narrow = seeing({ constants }, { width: 5 });
  await assert.rejects((await opened(narrow.program)).generate([message]).text(), {
    code: "mismatch",
  });
  const tokens = seeing({ constants, methods: "forward" });
  await assert.rejects((await opened(tokens.program)).generate([message]).text(), {
    code: "unsupported",
  });
});
