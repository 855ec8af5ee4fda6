// Embeddings: pooled by the program, or as the mean over the tokens.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { InputValue, ProgramValueInfo, Tensor } from "sconce";
import { openLanguageModel, type LanguageModel, type LanguageProgram } from "sconce/llm";
import { bytes, fakeProgram } from "./fake.js";

const WIDTH = 4;

interface Form {
  method?: string;
  length?: number;
  dynamic?: boolean;
  isPooled?: boolean;
  inputs?: readonly string[];
  dtype?: "int64" | "int32";
}

/** A program that gives (token, its place, mask, segment) for each token, or their sum. */
function encoder(form: Form = {}): LanguageProgram & { given: InputValue[] } {
  const { method = "forward", length = 16, dynamic = true, isPooled = false } = form;
  const { inputs: names = ["input_ids", "attention_mask"], dtype = "int64" } = form;
  const info = (name: string): ProgramValueInfo => ({
    name,
    kind: "tensor",
    dtype,
    shape: [1, length],
    dynamic,
  });
  const shape = isPooled ? [1, WIDTH] : [1, length, WIDTH];
  const outputs: ProgramValueInfo[] = [
    { name: "output_0", kind: "tensor", dtype: "float32", shape, dynamic },
  ];
  const program = {
    given: [] as InputValue[],
    inspect: () => ({
      methods: [
        {
          name: method,
          inputs: names.map(info),
          outputs,
          plannedBytes: [],
          instructions: 1,
          ops: {},
          delegates: [],
          parts: [],
          externalData: [],
        },
      ],
    }),
    run: (_: string, inputs: readonly InputValue[]): Tensor[] => {
      program.given = [...inputs];
      const rows = inputs.map((input) => Array.from((input as Tensor).data, Number));
      const count = rows[0]!.length;
      const values = rows[0]!.flatMap((id, at) => [id, at, rows[1]?.[at] ?? 1, rows[2]?.[at] ?? 0]);
      const sum = [0, 1, 2, 3].map((i) =>
        values.reduce((total, value, at) => total + (at % WIDTH === i ? value : 0), 0),
      );
      return isPooled
        ? [{ dtype: "float32", shape: [1, WIDTH], data: Float32Array.from(sum) }]
        : [{ dtype: "float32", shape: [1, count, WIDTH], data: Float32Array.from(values) }];
    },
    reset: () => undefined,
  };
  return program;
}

const opened = (program: LanguageProgram): Promise<LanguageModel> =>
  openLanguageModel({ program, tokenizer: bytes });

// "abc" is 1 and the bytes from 97, each with 3 added.
const IDS = [1, 100, 101, 102];
const MEAN = [IDS.reduce((a, b) => a + b) / 4, 1.5, 1, 0];

test("the mean over the tokens, padded or not", async () => {
  for (const dtype of ["int64", "int32"] as const)
    for (const dynamic of [true, false]) {
      const program = encoder({ dynamic, dtype });
      const lm = await opened(program);
      assert.equal(lm.contextLength, 16);
      assert.deepEqual([...(await lm.embed("abc"))], MEAN);
      const [tokens, mask] = program.given.map((input) =>
        Array.from((input as Tensor).data, Number),
      );
      const padding = new Array<number>(dynamic ? 0 : 12).fill(0);
      assert.deepEqual(tokens, [...IDS, ...padding]);
      assert.deepEqual(mask, [1, 1, 1, 1, ...padding]);
      assert.equal((program.given[0] as Tensor).dtype, dtype);
    }
});

test("what the program pools by itself, and segments", async () => {
  const lm = await opened(encoder({ isPooled: true }));
  assert.deepEqual(
    [...(await lm.embed("abc"))],
    MEAN.map((mean) => mean * 4),
  );
  const inputs = ["input_ids", "attention_mask", "token_type_ids"];
  const segments = await opened(encoder({ inputs }));
  assert.deepEqual([...(await segments.embed("abc"))], MEAN);
  const alone = await opened(encoder({ inputs: ["tokens"] }));
  assert.deepEqual([...(await alone.embed("abc"))], MEAN);
});

test("texts that do not fit, and programs of other kinds", async () => {
  const lm = await opened(encoder());
  await assert.rejects(lm.embed("x".repeat(16)), { code: "limit" });
  await assert.rejects(lm.embed("", { sgnal: 1 } as never), { code: "option" });
  assert.throws(() => lm.generate("abc"), { code: "unsupported" });
  const fixed = await opened(encoder({ inputs: ["tokens"], dynamic: false }));
  await assert.rejects(fixed.embed("abc"), { code: "unsupported" });
  const writer = await openLanguageModel({ program: fakeProgram(), tokenizer: bytes });
  await assert.rejects(writer.embed("abc"), { code: "unsupported" });
});

test("a program with a method for embeddings can do both", async () => {
  const [writer, own] = [fakeProgram(), encoder({ method: "embed", inputs: ["tokens"] })];
  const [{ methods }, more] = [writer, own].map((program) => program.inspect()) as [
    { methods: (typeof writer)["methods"] },
    { methods: (typeof writer)["methods"] },
  ];
  const program: LanguageProgram = {
    inspect: () => ({ methods: [...methods, ...more.methods] }),
    run: (name, ...rest) => (name === "embed" ? own : writer).run(name, ...rest),
    reset: () => writer.reset(),
  };
  const lm = await opened(program);
  assert.deepEqual([...(await lm.embed("abc"))], MEAN);
  assert.equal((await lm.generate("abc", { maxNewTokens: 3 }).text()).length, 3);
});
