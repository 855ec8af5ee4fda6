// Answers that fit a JSON schema: which texts a schema takes, and that nothing else is generated, whatever
// the scores are.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { SconceError } from "sconce";
import {
  openLanguageModel,
  type GenerateOptions,
  type LanguageModel,
  type TextTokenizer,
} from "sconce/llm";
import { bytes, EOS, fakeProgram, idsOf, VOCABULARY } from "./fake.js";
import { tokenizerJson } from "./tokenizer_files.js";

type Schema = NonNullable<GenerateOptions["schema"]>;

/** A model that would like to say a text: it goes on with it where it can, and then closes it. */
async function wishing(text: string, tokenizer: TextTokenizer = bytes): Promise<LanguageModel> {
  const ids = [...idsOf(text), EOS];
  const closing = idsOf('"}]');
  const program = fakeProgram(
    { cache: 1024, length: 512 },
    ({ length }) => ids[length - 1] ?? closing[length % closing.length]!,
  );
  return openLanguageModel({ program, tokenizer, contextLength: 1024 });
}

const said = async (text: string, schema: Schema): Promise<string> =>
  (await wishing(text)).generate("", { schema, maxNewTokens: 200 }).text();

const person = {
  type: "object",
  properties: {
    name: { type: "string", description: "Her name" },
    age: { type: "integer" },
    tags: { type: "array", items: { enum: ["a", "b", 3] }, maxItems: 2 },
  },
  required: ["name"],
};

const tree = {
  $ref: "#/$defs/node",
  $defs: {
    node: {
      type: "object",
      properties: {
        value: { type: "number" },
        next: { anyOf: [{ $ref: "#/$defs/node" }, { type: "null" }] },
      },
      required: ["value", "next"],
    },
  },
};

test("texts that fit a schema are said as they are", async () => {
  const cases: [Schema, string[]][] = [
    [
      person,
      [
        '{"name": "Ada"}',
        '{"name":"Ada","age":36}',
        '{"name": "Ada", "age": -1, "tags": ["a", 3]}',
        '{\n  "name": "A\\"\\u00e9\\n",\n  "tags": []\n}',
      ],
    ],
    [tree, ['{"value": 1, "next": {"value": -2.5e3, "next": null}}']],
    [
      true,
      ["null", "true", '"text"', "[]", "{}", '[1, {"a": [[]]}]', '{"a": null, "b": {"c": 0.5}}'],
    ],
    [{ type: "string", minLength: 2, maxLength: 3 }, ['"ab"', '"abc"', '"é😀"']],
    [{ type: ["integer", "null"] }, ["null", "0", "-17", "123456789012345"]],
    [{ type: "number" }, ["0.25", "1e-7", "-3"]],
    [{ const: { a: [1] } }, ['{"a":[1]}']],
    [
      { type: "array", items: { type: "boolean" }, minItems: 2 },
      ["[true, false]", "[true,true,true]"],
    ],
    [{ prefixItems: [{ type: "integer" }, { type: "string" }], items: false }, ['[1, "a"]']],
    [{ type: "array", maxItems: 0 }, ["[]"]],
    [{ type: "object", additionalProperties: { type: "integer" } }, ['{"x": 1, "y": 2}', "{}"]],
    [{ type: "object", properties: {} }, ["{}"]],
    [{ oneOf: [{ type: "integer" }, { const: "no" }] }, ["5", '"no"']],
  ];
  for (const [schema, texts] of cases)
    for (const text of texts) {
      assert.equal(await said(text, schema), text, JSON.stringify(schema));
      JSON.parse(text);
    }
});

test("a text that does not fit becomes one that does", async () => {
  const cases: [Schema, string[]][] = [
    [person, ['{"age": 3}', '{"name": 5}"}', '{"name": "A", "name": "B"}']],
    [{ type: "integer" }, ["007", "1.5", "x"]],
    [{ enum: ["red", "green"] }, ['"blue"', '"re"']],
    [{ type: "array", items: { type: "integer" }, minItems: 1, maxItems: 1 }, ["[]", "[1, 2]"]],
  ];
  for (const [schema, texts] of cases)
    for (const text of texts) {
      const answer = await said(text, schema);
      assert.notEqual(answer, text);
      const value: unknown = JSON.parse(answer);
      if (schema === person) assert.equal(typeof (value as { name: unknown }).name, "string");
    }
});

test("an answer ends with its text, and says so", async () => {
  const lm = await wishing('{"name": "Ada"} and more');
  const generation = lm.generate("", { schema: person });
  assert.equal(await generation.text(), '{"name": "Ada"}');
  assert.equal(generation.summary!.finishReason, "eos");
  // A number could go on: there the model says that it ends.
  const number = (await wishing("12")).generate("", { schema: { type: "integer" } });
  assert.equal(await number.text(), "12");
  assert.equal(number.summary!.finishReason, "eos");
});

/** Random numbers of a test, the same in every run. */
function generatorOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** True if a value fits, by the rules of JSON schemas. */
function fits(value: unknown, schema: unknown, root: unknown): boolean {
  if (typeof schema === "boolean") return schema;
  const one = schema as Record<string, never>;
  if (one["$ref"]) {
    const path = (one["$ref"] as string).split("/").slice(1);
    return fits(
      value,
      path.reduce((at, key) => (at as Record<string, unknown>)[key], root),
      root,
    );
  }
  if ("const" in one) return JSON.stringify(value) === JSON.stringify(one["const"]);
  if (one["enum"]) return (one["enum"] as unknown[]).includes(value);
  const options = (one["anyOf"] ?? one["oneOf"]) as unknown[] | undefined;
  if (options) return options.some((option) => fits(value, option, root));
  const type = Array.isArray(value) ? "array" : value === null ? "null" : typeof value;
  const types = [one["type"] ?? type].flat() as string[];
  const isType = types.some((t) => t === type || (t === "integer" && Number.isInteger(value)));
  if (!isType) return false;
  const { minLength = 0, maxLength = Infinity, minItems = 0, maxItems = Infinity } = one;
  if (typeof value === "string") {
    const { length } = [...value];
    return length >= minLength && length <= maxLength;
  }
  if (Array.isArray(value))
    return (
      value.length >= minItems &&
      value.length <= maxItems &&
      value.every((item) => fits(item, one["items"] ?? true, root))
    );
  if (type !== "object") return true;
  const required = (one["required"] ?? []) as string[];
  const properties = (one["properties"] ?? {}) as Record<string, unknown>;
  return (
    required.every((name) => Object.hasOwn(value as object, name)) &&
    Object.entries(value as object).every(([name, item]) =>
      Object.hasOwn(properties, name) ? fits(item, properties[name], root) : !one["properties"],
    )
  );
}

const schemas: Schema[] = [
  person,
  tree,
  true,
  { type: "array", items: { type: ["number", "boolean"] }, minItems: 1, maxItems: 4 },
  {
    anyOf: [
      { type: "string", maxLength: 5 },
      { type: "object", properties: { x: { type: "null" } } },
    ],
  },
  { type: "object", additionalProperties: { type: "array", items: true } },
];

/** Tokens of one and of several characters. */
const words = [
  ...Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i)),
  ...[
    "\n",
    "é",
    '{"',
    '": ',
    '", "',
    '"}',
    "},",
    "null",
    "true",
    "name",
    'age":',
    "tags",
    "value",
    "next",
    "]}",
  ],
];
const wordy: TextTokenizer = {
  encode: (text) => Array.from(text, (c) => 3 + words.indexOf(c)),
  decode: (ids) => ids.map((id) => words[id - 3] ?? "").join(""),
  eosIds: [EOS],
  vocabularySize: 3 + words.length,
};

test("whatever the scores are, the answer fits the schema", async () => {
  const random = generatorOf(5);
  let whole = 0;
  for (let round = 0; round < 240; round++) {
    const schema = schemas[round % schemas.length]!;
    const program = fakeProgram({ cache: 4096, length: 512 });
    program.run = () => {
      // Ends are likely, so that texts do end.
      const data = Float32Array.from({ length: VOCABULARY }, (_, id) => {
        const isEnd = id === EOS || /^["\]}]+$/.test(words[id - 3] ?? "");
        return random() * 4 + (isEnd ? 2 : 0);
      });
      return [{ dtype: "float32", shape: [1, VOCABULARY], data }];
    };
    const lm = await openLanguageModel({ program, tokenizer: wordy, contextLength: 4096 });
    const options = {
      schema,
      temperature: [0, 1, 0.5][round % 3]!,
      seed: round,
      maxNewTokens: 400,
    };
    const generation = lm.generate("a", { ...options, ...(round % 2 === 0 && { topK: 5 }) });
    const text = await generation.text();
    if (generation.summary!.finishReason === "length") continue;
    whole++;
    assert.ok(fits(JSON.parse(text), schema, schema), `${JSON.stringify(schema)}: ${text}`);
  }
  assert.ok(whole > 150, `${whole} whole texts`);
});

test("tokens of Hugging Face's files are held to a schema, too", async () => {
  const program = fakeProgram({ cache: 512, length: 128 });
  const random = generatorOf(3);
  program.run = () => {
    const data = Float32Array.from({ length: VOCABULARY }, () => random());
    return [{ dtype: "float32", shape: [1, VOCABULARY], data }];
  };
  const lm = await openLanguageModel({
    program,
    tokenizer: tokenizerJson(),
    contextLength: 512,
    eosIds: [2],
  });
  const schema = {
    type: "object",
    properties: { hello: { type: "string", maxLength: 4 }, n: { type: "boolean" } },
    required: ["hello", "n"],
  };
  for (let seed = 1; seed < 10; seed++) {
    const text = await lm.generate("a", { schema, temperature: 1, seed, maxNewTokens: 200 }).text();
    assert.ok(fits(JSON.parse(text), schema, schema), text);
  }
});

/** An object with itself in it, in it, and so on. */
const endless = {
  $defs: {
    endless: {
      type: "object",
      properties: { a: { $ref: "#/$defs/endless" } },
      required: ["a"],
    },
  },
  $ref: "#/$defs/endless",
};

test("ways to go on that never end are left out", async () => {
  const { $defs } = endless;
  const inner = { $ref: "#/$defs/endless" };
  const schema = {
    $defs,
    type: "object",
    properties: {
      a: { anyOf: [inner, { type: "null" }] },
      b: inner,
      c: { type: "array", items: inner },
    },
    required: ["a", "c"],
  };
  // The model would choose the letters in this order wherever it may.
  const text = await (await wishing('{"a":{"b":[{')).generate("", { schema }).text();
  assert.deepEqual(JSON.parse(text), { a: null, c: [] });
});

test("schemas that cannot be kept are refused, with their places", async () => {
  const lm = await wishing("x");
  const cases: [Schema, RegExp, string?][] = [
    [{ type: "string", pattern: "a" }, /at its root has the keyword 'pattern'/],
    [{ type: "integer", minimum: 1 }, /keyword 'minimum'/],
    [{ properties: { a: { type: "date" } } }, /at \/properties\/a has the type "date"/],
    [{ items: { allOf: [] } }, /at \/items has the keyword 'allOf'/],
    [{ $ref: "other.json" }, /refers to "other.json"/],
    [{ $ref: "#/$defs/none" }, /refers to '#\/\$defs\/none', which is not there/],
    [{ enum: [] }, /not a list with something in it/],
    [{ type: "object", required: ["a"] }, /requires "a"/],
    [{ minLength: 5, maxLength: 2, type: "string" }, /no range/],
    [{ type: "string", maxLength: 1e9 }, /no range/],
    [{ const: 1, type: "integer", enum: [1] }, /'const' together with 'enum'|'enum' together/],
    [{ anyOf: [{ type: "null" }], properties: {} }, /'anyOf' together with 'properties'/],
    [{ anyOf: [5] }, /at \/anyOf\/0 is not an object/],
    [false, /no text fits the schema/, "argument"],
    [{ $ref: "#" }, /no text fits the schema/, "argument"],
    [endless, /no text fits the schema/, "argument"],
    [
      { $defs: endless.$defs, anyOf: [{ $ref: "#/$defs/endless" }, false] },
      /no text fits the schema/,
      "argument",
    ],
    [{ type: "array", items: { $ref: "#" }, minItems: 1 }, /no text fits the schema/, "argument"],
  ];
  for (const [schema, message, code = "unsupported"] of cases)
    await assert.rejects(lm.generate("", { schema }).text(), (error: SconceError) => {
      assert.equal(error.code, code, error.message);
      assert.match(error.message, message);
      return true;
    });
  for (const schema of [null, 5, "{}", []])
    assert.throws(() => lm.generate("", { schema: schema as never }), { code: "option" });
  const digits = { ...wordy, decode: (ids: number[]) => ids.map((id) => `${id % 10}`).join("") };
  const other = await openLanguageModel({ program: fakeProgram(), tokenizer: digits });
  await assert.rejects(other.generate([5], { schema: { type: "null" } }).text(), {
    code: "unsupported",
  });
});

test("a schema that is too deep is refused", async () => {
  for (const wrap of [
    (items: object): object => ({ type: "array", items }),
    (one: object): object => ({ anyOf: [one] }),
    (one: object): object => ({ const: one }),
  ]) {
    let schema: object = { type: "integer" };
    for (let i = 0; i < 20_000; i++) schema = wrap(schema);
    await assert.rejects(said("1", schema as Schema), { code: "unsupported" });
  }
});
