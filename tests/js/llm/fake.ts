// Programs in the forms of all exporters, as objects: each keeps a cache as a real one does, checks every
// call against its own signature, and says what comes next by a function of the tokens in its cache.
import type { DType, InputValue, ProgramMethodInfo, Tensor, Value } from "sconce";
import type { LanguageProgram, TextTokenizer } from "sconce/llm";

export const VOCABULARY = 300;
const FIRST = 3;
export const BOS = 1;
export const EOS = 2;

/** A tokenizer of bytes. */
export const bytes: TextTokenizer = {
  encode: (text, { addSpecialTokens = true } = {}) => [
    ...(addSpecialTokens ? [BOS] : []),
    ...Array.from(new TextEncoder().encode(text), (byte) => byte + FIRST),
  ],
  decode: (ids) =>
    new TextDecoder("utf-8", { ignoreBOM: true }).decode(
      Uint8Array.from(ids.filter((id) => id >= FIRST && id < FIRST + 256).map((id) => id - FIRST)),
    ),
  tokenBytes: (id) => Uint8Array.of(id - FIRST),
  bosId: BOS,
  eosIds: [EOS],
  vocabularySize: 259,
};

/** The ids of a text, without the first token. */
export const idsOf = (text: string): number[] =>
  Array.from(bytes.encode(text, { addSpecialTokens: false }) as number[]);

export interface Form {
  /** The most tokens of a call, of `forward` or of `prefill`. */
  length?: number;
  isDynamic?: boolean;
  /** The length of the cache. */
  cache?: number;
  position?: "start" | "scalar" | "number" | "positions" | "positions2" | "none";
  scores?: "last" | "all" | "flat";
  dtype?: DType;
  ids?: "int64" | "int32";
  rank?: 1 | 2;
  methods?: "forward" | "pair" | "split" | "decode";
  constants?: Readonly<Record<string, Value[]>>;
  /** True if promises answer, as a client's do. */
  isRemote?: boolean;
  /** Operators that the methods have. */
  ops?: readonly string[];
}

export interface Call {
  method: string;
  start: number;
  tokens: number[];
}

/** The next token, if it depends on every token and on its position. */
export function hashed(tokens: readonly number[]): number {
  let hash = 17;
  tokens.forEach((token, at) => (hash = (hash * 31 + token * (at + 7)) % 65521));
  return FIRST + 32 + (hash % 90);
}

const halves: Partial<Record<DType, (value: number) => number>> = {
  bfloat16: (value) => (value === 0 ? 0 : 0x3f80),
  float16: (value) => (value === 0 ? 0 : 0x3c00),
};

function tensorOf(dtype: DType, shape: number[], values: number[]): Tensor {
  const encoded = values.map(halves[dtype] ?? Number);
  const Data = { float32: Float32Array, float64: Float64Array }[dtype as "float32"] ?? Uint16Array;
  return { dtype, shape, data: Data.from(encoded) } as Tensor;
}

const numbers = (value: InputValue): number[] =>
  typeof value === "object" && value !== null
    ? Array.from(value.data as ArrayLike<number | bigint>, Number)
    : [Number(value)];

function fail(message: string): never {
  throw new Error(message);
}

/** A program; `calls` tells what was run. */
export interface FakeProgram extends LanguageProgram {
  readonly calls: Call[];
  resets: number;
  readonly methods: ProgramMethodInfo[];
}

const valueInfo = (name: string, about: object): ProgramMethodInfo["inputs"][number] => ({
  name,
  kind: "tensor",
  dynamic: false,
  ...about,
});

export function fakeProgram(
  form: Form = {},
  next: (tokens: readonly number[]) => number = hashed,
): FakeProgram {
  const { length = 16, isDynamic = true, cache = 64, position = "start", scores = "last" } = form;
  const { dtype = "float32", ids = "int64", rank = 2, methods = "forward", ops = [] } = form;
  const held = new Array<number>(cache).fill(-1);
  const calls: Call[] = [];
  const row = (size: number): number[] => (rank === 2 ? [1, size] : [size]);

  const positionInfo = (size: number): ProgramMethodInfo["inputs"] => {
    if (position === "none") return [];
    if (position === "number") return [{ name: "pos", kind: "int" }];
    const shapes = {
      start: [1],
      scalar: [],
      positions: [size],
      positions2: [1, size],
    };
    const dynamic = isDynamic && position.startsWith("positions") && size > 1;
    return [valueInfo("position_ids", { dtype: ids, shape: shapes[position], dynamic })];
  };
  const scoreInfo = (size: number): ProgramMethodInfo["outputs"] => {
    const shapes = {
      last: [1, VOCABULARY],
      all: [1, size, VOCABULARY],
      flat: [VOCABULARY],
    };
    return [valueInfo("output_0", { dtype, shape: shapes[scores] })];
  };
  const methodInfo = (
    name: string,
    inputs: ProgramMethodInfo["inputs"],
    outputs: ProgramMethodInfo["outputs"],
  ): ProgramMethodInfo => ({
    name,
    inputs,
    outputs,
    plannedBytes: [],
    instructions: inputs.length,
    ops: Object.fromEntries(ops.map((op) => [op, 1])),
    delegates: [],
    parts: [],
    externalData: [],
  });
  const step = (name: string, size: number): ProgramMethodInfo => {
    const dynamic = isDynamic && size > 1;
    const tokens = valueInfo("tokens", { dtype: ids, shape: row(size), dynamic });
    return methodInfo(name, [tokens, ...positionInfo(size)], scoreInfo(size));
  };
  const rows = (size: number): ProgramMethodInfo["inputs"][number] =>
    valueInfo("embeds", { dtype: "float32", shape: [1, size, 2], dynamic: isDynamic && size > 1 });
  const all: Record<string, () => ProgramMethodInfo[]> = {
    forward: () => [step("forward", length)],
    decode: () => [step("decode", 1)],
    pair: () => [step("prefill", length), step("decode", 1)],
    split: () => [
      methodInfo(
        "token_embedding",
        [
          valueInfo("tokens", {
            dtype: ids,
            shape: row(length),
            dynamic: isDynamic && length > 1,
          }),
        ],
        [rows(length)],
      ),
      methodInfo("text_decoder", [rows(length), ...positionInfo(length)], scoreInfo(length)),
    ],
  };
  const constants = Object.entries(form.constants ?? {}).map(([name, values]) =>
    methodInfo(
      name,
      [],
      values.map((_, i) => ({ name: `output_${i}`, kind: "int" })),
    ),
  );
  const infos = [...all[methods]!(), ...constants];

  function check(info: ProgramMethodInfo, inputs: readonly InputValue[]): void {
    if (inputs.length !== info.inputs.length) fail(`${info.name} takes ${info.inputs.length}`);
    info.inputs.forEach(({ name, kind, dtype: wanted, shape = [], dynamic }, i) => {
      const value = inputs[i]!;
      if (kind === "int") return typeof value === "number" || fail(`${name} is a number`);
      if (typeof value !== "object" || value === null) return fail(`${name} is a tensor`);
      if (value.dtype !== wanted) fail(`${name} is ${value.dtype}`);
      if (value.shape.length !== shape.length) fail(`${name} has rank ${value.shape.length}`);
      const count = value.shape.reduce((product, size) => product * size, 1);
      if (value.data.length !== count) fail(`${name} has ${value.data.length} elements`);
      value.shape.forEach((size, d) => {
        if (size < 1 || (dynamic ? size > shape[d]! : size !== shape[d])) fail(`${name}: ${size}`);
      });
    });
  }

  function run(name: string, inputs: readonly InputValue[]): Value[] {
    const constant = form.constants?.[name];
    if (constant) return constant;
    const info = infos.find((one) => one.name === name) ?? fail(`no method ${name}`);
    check(info, inputs);
    if (name === "token_embedding") {
      const tokens = numbers(inputs[0]!);
      return [
        tensorOf(
          "float32",
          [1, tokens.length, 2],
          tokens.flatMap((id) => [id, -id]),
        ),
      ];
    }
    const isSplit = name === "text_decoder";
    const flat = numbers(inputs[0]!);
    const tokens = isSplit ? flat.filter((_, i) => i % 2 === 0) : flat;
    const given = inputs.length > 1 ? numbers(inputs[1]!) : [0];
    const start = given[0]!;
    if (position.startsWith("positions"))
      given.forEach((at, i) => at === start + i || fail(`position ${at}`));
    if (start < 0 || start + tokens.length > cache) fail(`start ${start} of ${cache}`);
    tokens.forEach((token, i) => (held[start + i] = token));
    // A single token of padding is only a trial of the cache's length.
    if (tokens.length > 1 || tokens[0] !== 0) calls.push({ method: name, start, tokens });
    const scored = tokens.map((_, i) => {
      const best = next(held.slice(0, start + i + 1));
      return Array.from({ length: VOCABULARY }, (_, id) => (id === best ? 1 : 0));
    });
    const one = scored.at(-1)!;
    if (scores === "flat") return [tensorOf(dtype, [VOCABULARY], one)];
    if (scores === "last") return [tensorOf(dtype, [1, VOCABULARY], one)];
    return [tensorOf(dtype, [1, tokens.length, VOCABULARY], scored.flat())];
  }

  const program: FakeProgram = {
    calls,
    resets: 0,
    methods: infos,
    inspect: () => (form.isRemote ? Promise.resolve({ methods: infos }) : { methods: infos }),
    run: (name, inputs, options) => {
      if (!form.isRemote) return run(name, inputs);
      return new Promise((resolve, reject) =>
        setImmediate(() => {
          if (options.signal?.aborted) return reject(new Error("aborted"));
          try {
            resolve(run(name, inputs));
          } catch (error) {
            reject(error as Error);
          }
        }),
      );
    },
    reset: () => {
      program.resets++;
      held.fill(-1);
    },
  };
  return program;
}

/** The tokens that come after a prompt, by the function alone. */
export function expected(
  prompt: readonly number[],
  count: number,
  next: (tokens: readonly number[]) => number = hashed,
): number[] {
  const tokens = [...prompt];
  for (let i = 0; i < count; i++) tokens.push(next(tokens));
  return tokens.slice(prompt.length);
}
