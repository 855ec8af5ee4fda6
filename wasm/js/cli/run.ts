// sconce run: execute methods of a .pte on arrays, numbers, or made-up inputs.
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { missingData, SconceError } from "../errors.js";
import { fill, makeTensor } from "../fill.js";
import { isTensor, toNumbers } from "../tensor.js";
import type { Program, ProgramMethodInfo, ProgramValueInfo, Tensor, Value } from "../types.js";
import {
  EXIT,
  makeEngine,
  makeFolder,
  parse,
  reason,
  terminalProgress,
  UsageError,
  writing,
} from "./common.js";
import { readNpy, writeNpy, writeNpyText } from "./npy.js";

export const RUN_HELP = `sconce run: execute a .pte

  sconce run model.pte --input x.npy --out results/
  sconce run model.pte --method decode --input tokens.npy --input 7
  sconce run model.pte --input random:1        one filler for all inputs
  sconce run model.pte --calls calls.json      several calls, state kept between them

  --method NAME     which method; default: the only one, or forward
  --input VALUE     one per flattened input, in order: x.npy, 3.5, 7, true, none, or a filler:
                    zeros, ones, random:SEED (floats of a normal distribution, integers 0 or 1);
                    a single filler stands for all inputs; dynamic sizes take their upper bound
  --out FOLDER      write output_0.npy, output_1.npy, ... there (bfloat16 as V2)
  --data FILE       a .ptd that the program needs; may be repeated
  --calls FILE      JSON: [{"method": "m", "inputs": ["x.npy", 3, true, null], "out": "folder"}, ...];
                    files are looked up from here, then beside FILE
`;

const FORMS = "x.npy, 3.5, 7, true, none, zeros, ones or random:SEED, such as random:1";
const FILLERS = /^(zeros|ones|random:-?\d+)$/;

function readArray(path: string, info: ProgramValueInfo): Tensor {
  try {
    return readNpy(readFileSync(path), path, info.dtype);
  } catch (error) {
    if (error instanceof SconceError) throw error;
    const isPath = path.endsWith(".npy");
    throw new SconceError(
      "io",
      isPath ? `cannot read ${path}: ${reason(error)}` : `'${path}' is no value and no file`,
      isPath ? "Check the path." : `Pass ${FORMS}.`,
    );
  }
}

/** Numbers for tensors without dimensions are tensors; everything else is what it says. */
function scalar(value: number | boolean, info: ProgramValueInfo): Value {
  if (info.kind !== "tensor") return value;
  if (info.shape!.length > 0) {
    throw new SconceError(
      "input",
      `a number cannot be the ${info.dtype} tensor [${info.shape!.join(", ")}]`,
      "Pass an .npy file, or zeros, ones, random:1.",
    );
  }
  return makeTensor(info, [], () => Number(value));
}

function parseInput(text: string, info: ProgramValueInfo, index: number): Value {
  if (FILLERS.test(text)) return fill(text, info, index);
  if (text === "none") return null;
  if (text === "true" || text === "false") return scalar(text === "true", info);
  if (/^[-+]?\d+$/.test(text))
    return info.kind === "int" ? BigInt(text) : scalar(Number(text), info);
  if (/^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$|^[-+]?(inf|nan)$/.test(text)) {
    return scalar(Number(text.replace("inf", "Infinity").replace("nan", "NaN")), info);
  }
  if (info.kind === "string" && !text.endsWith(".npy")) return text;
  return readArray(text, info);
}

function methodInfo(program: Program, name: string | undefined): ProgramMethodInfo {
  const { methods } = program.inspect();
  const runnable =
    methods.length === 1 ? methods[0] : methods.find((m) => m.name === (name ?? "forward"));
  const found = name === undefined ? runnable : methods.find((m) => m.name === name);
  if (found) {
    const lacking = missingData([found], "Name the .ptd that was made with it: --data model.ptd.");
    if (lacking) throw lacking;
    return found;
  }
  const names = methods.map((m) => m.name).join(", ");
  throw new SconceError(
    "not_found",
    name === undefined ? "the program has several methods" : `there is no method '${name}'`,
    `Name one with --method: ${names}.`,
  );
}

function checkCount(info: ProgramMethodInfo, count: number): void {
  if (info.inputs.length === count) return;
  throw new SconceError(
    "input",
    `method '${info.name}' takes ${info.inputs.length} inputs, not ${count}`,
    "Pass one --input per flattened input, or a single zeros, ones or random:1.",
  );
}

function commandInputs(info: ProgramMethodInfo, texts: readonly string[]): Value[] {
  const single = texts.length === 1 && FILLERS.test(texts[0]!);
  if (single) return info.inputs.map((input, i) => fill(texts[0]!, input, i));
  checkCount(info, texts.length);
  return texts.map((text, i) => parseInput(text, info.inputs[i]!, i));
}

// --- Outputs ---------------------------------------------------------------------------------------

function asTensor(value: number | bigint | boolean, kind: string): Tensor {
  if (typeof value === "boolean")
    return { dtype: "bool", shape: [], data: Uint8Array.of(value ? 1 : 0) };
  if (kind === "double")
    return { dtype: "float64", shape: [], data: Float64Array.of(Number(value)) };
  return { dtype: "int64", shape: [], data: BigInt64Array.of(BigInt(value)) };
}

/** Files that this command has written: a later call may read them, and they go when it fails. */
const written: string[] = [];

function writeFile(path: string, bytes: Uint8Array): void {
  written.push(path);
  writeFileSync(path, bytes);
}

function writeOutputs(folder: string, outputs: readonly Value[], info: ProgramMethodInfo): void {
  writing(folder, () => {
    makeFolder(folder);
    outputs.forEach((value, i) => {
      const path = join(folder, `output_${i}.npy`);
      if (value === null) return;
      if (typeof value === "string") writeFile(path, writeNpyText(value));
      else {
        const whole = isTensor(value) ? value : asTensor(value, info.outputs[i]!.kind);
        writeFile(path, writeNpy(whole));
      }
    });
  });
}

function describe(value: Value): string {
  if (!isTensor(value)) return typeof value === "string" ? JSON.stringify(value) : String(value);
  const shape = `${value.dtype} [${value.shape.join(", ")}]`;
  if (value.dtype.startsWith("complex") || value.dtype.startsWith("float8")) return shape;
  const numbers = toNumbers(value);
  if (numbers.length === 0) return `${shape} empty`;
  if (numbers.length <= 8)
    return `${shape} ${numbers.map((n) => Number(n.toPrecision(6))).join(" ")}`;
  let [low, high, sum, nan] = [Infinity, -Infinity, 0, 0];
  for (const n of numbers) {
    if (Number.isNaN(n)) nan++;
    else {
      low = Math.min(low, n);
      high = Math.max(high, n);
      sum += n;
    }
  }
  const mean = sum / Math.max(1, numbers.length - nan);
  return `${shape} min ${low.toPrecision(6)} max ${high.toPrecision(6)} mean ${mean.toPrecision(6)}${nan ? `, ${nan} NaN` : ""}`;
}

function runOnce(
  program: Program,
  info: ProgramMethodInfo,
  inputs: readonly Value[],
  out: string | undefined,
): void {
  const begin = performance.now();
  const outputs = program.run(info.name, inputs);
  const ms = performance.now() - begin;
  if (out !== undefined) writeOutputs(out, outputs, info);
  process.stdout.write(`${info.name}: ${ms.toFixed(2)} ms\n`);
  outputs.forEach((value, i) => process.stdout.write(`  output_${i}: ${describe(value)}\n`));
}

// --- Calls -----------------------------------------------------------------------------------------

interface Call {
  method?: string;
  inputs?: (string | number | boolean | null)[];
  out?: string;
}

function readCalls(path: string): Call[] {
  try {
    const calls = JSON.parse(readFileSync(path, "utf8")) as unknown;
    if (Array.isArray(calls) && calls.every((c) => typeof c === "object" && c !== null))
      return calls as Call[];
  } catch (error) {
    throw new SconceError(
      "format",
      `cannot read ${path}: ${reason(error)}`,
      "Pass a JSON file with a list of calls.",
    );
  }
  throw new SconceError(
    "format",
    `${path} is not a list of calls`,
    'Write [{"method": "forward", "inputs": ["x.npy"], "out": "folder"}].',
  );
}

function callInput(
  value: string | number | boolean | null,
  info: ProgramValueInfo,
  index: number,
  folder: string,
): Value {
  if (value === null) return null;
  if (typeof value !== "string") return scalar(value, info);
  if (info.kind === "string" && !value.endsWith(".npy")) return value;
  if (!value.endsWith(".npy")) return parseInput(value, info, index);
  return readArray(existsSync(value) ? value : resolve(folder, value), info);
}

function runCalls(program: Program, path: string): void {
  for (const call of readCalls(path)) {
    const info = methodInfo(program, call.method);
    const given = call.inputs ?? [];
    const filler =
      given.length === 1 && typeof given[0] === "string" && FILLERS.test(given[0])
        ? given[0]
        : undefined;
    if (filler === undefined) checkCount(info, given.length);
    const inputs =
      filler === undefined
        ? given.map((value, i) => callInput(value, info.inputs[i]!, i, dirname(path)))
        : commandInputs(info, [filler]);
    runOnce(program, info, inputs, call.out);
  }
}

export async function runCommand(args: string[]): Promise<number> {
  const { values, positionals } = parse({
    args,
    allowPositionals: true,
    options: {
      method: { type: "string" },
      input: { type: "string", multiple: true },
      out: { type: "string" },
      data: { type: "string", multiple: true },
      calls: { type: "string" },
      help: { type: "boolean", short: "h" },
    },
  });
  if (values.help) {
    process.stdout.write(RUN_HELP);
    return EXIT.done;
  }
  if (positionals.length !== 1) throw new UsageError("say which .pte to run, and one only");
  if (values.calls !== undefined && (values.input || values.method || values.out)) {
    throw new UsageError("--calls says method, inputs and out itself");
  }
  const engine = await makeEngine();
  const progress = terminalProgress(positionals[0]!);
  try {
    const dataFiles = (values.data ?? []).map((path) => ({ path }));
    const source = { path: positionals[0]! };
    if (engine.detect(source) === "pt2")
      throw new SconceError(
        "format",
        `${source.path} is a .pt2, which is lowered before it runs`,
        `Lower it first: sconce lower ${source.path} -o ${source.path.replace(/(\.pt2)?$/, ".pte")}`,
      );
    const program = engine.load(source, { dataFiles });
    progress.clear();
    if (values.calls !== undefined) runCalls(program, values.calls);
    else {
      const info = methodInfo(program, values.method);
      runOnce(program, info, commandInputs(info, values.input ?? []), values.out);
    }
    program.dispose();
    return EXIT.done;
  } catch (error) {
    for (const path of written) rmSync(path, { force: true });
    throw error;
  } finally {
    progress.clear();
  }
}
