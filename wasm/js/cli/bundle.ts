// sconce bundle: a program and calls of its methods in one file.
import { counted } from "../base/counted.js";
import { dirname, resolve } from "node:path";
import { SconceError } from "../base/errors.js";
import type { Program, TestCase, TestSuite } from "../types/index.js";
import { importModules } from "./shell/backends.js";
import { readCalls, type Call } from "./files/calls.js";
import { defineCommand, type ValuesOf } from "./shell/command.js";
import { PROGRAM_FLAGS } from "./shell/program_flags.js";
import { makeEngine } from "./engine.js";
import { EXIT, UsageError } from "./usage.js";
import { checkPlace, keepInputs, readWhole, statsOf, writeFiles } from "./files/files.js";
import { printJson } from "./print/json.js";
import { callInputs, methodInfo } from "./run/inputs.js";
import { claimInputs, claimOutputs, isInputStream, sourceOf } from "./files/streams.js";
import { isJson, tell } from "./print/terminal.js";
import { readArray } from "./files/values.js";

const FLAGS = {
  calls: {
    type: "string",
    value: "FILE",
    text:
      'the calls, as JSON: [{"method": "m", "inputs": ["x.npy", 3, true], "expected": ["y.npy"]}, ...]. ' +
      'Without "expected" the call runs now, and the bundle expects its results. Each call starts from ' +
      "the initial state of the program. Its outputs must be tensors",
  },
  output: {
    type: "string",
    short: "o",
    value: "FILE",
    text: "the bundled program; - is the standard output",
  },
  ...PROGRAM_FLAGS,
} as const;

/** The calls of the file, if they can be bundled. */
function callsOf(path: string): Call[] {
  const calls = readCalls(path);
  if (calls.length === 0)
    throw new SconceError("format", `${path} holds no calls`, "Write at least one call into it.");
  const wrong = calls.findIndex(({ out }) => out !== undefined);
  if (wrong >= 0)
    throw new SconceError(
      "format",
      `call ${wrong} of ${path} has "out", but sconce bundle writes no outputs`,
      'Leave it out, or name what is expected: "expected": ["y.npy"].',
    );
  return calls;
}

function caseOf(program: Program, call: Call, folder: string): [string, TestCase] {
  const info = methodInfo(program, call.method, 'Name one in the calls, as "method"');
  const inputs = callInputs(info, call.inputs, folder);
  if (!call.expected) return [info.name, { inputs }];
  const expectedOutputs = call.expected.map((path, i) => {
    const output = info.outputs[i];
    if (!output)
      throw new UsageError(
        `"expected" has more files than method '${info.name}' has outputs: ${info.outputs.length}`,
      );
    return readArray(
      isInputStream(path) || statsOf(path) ? path : resolve(folder, path),
      output,
      readWhole,
    );
  });
  return [info.name, { inputs, expectedOutputs }];
}

function suitesOf(program: Program, calls: readonly Call[], folder: string): TestSuite[] {
  const suites = new Map<string, TestCase[]>();
  for (const call of calls) {
    const [method, testCase] = caseOf(program, call, folder);
    suites.set(method, [...(suites.get(method) ?? []), testCase]);
  }
  return [...suites].map(([methodName, testCases]) => ({ methodName, testCases }));
}

async function bundle(values: ValuesOf<typeof FLAGS>, files: string[]): Promise<number> {
  if (files.length !== 1) throw new UsageError("name one .pte file to bundle");
  const path = files[0]!;
  const { calls, output, data = [] } = values;
  if (!calls) throw new UsageError("name the file with the calls: --calls calls.json");
  if (!output) throw new UsageError("name the file to write: -o model.bpte");
  claimInputs([path, calls, ...data]);
  claimOutputs([output], true);
  keepInputs([path, calls, ...data], output);
  const given = callsOf(calls);
  checkPlace(output);
  const engine = await makeEngine();
  await importModules(engine, values.import ?? []);
  const source = sourceOf(path);
  const options = { dataFiles: data.map(sourceOf) };
  const program = engine.load(source, options);
  const suites = suitesOf(program, given, dirname(calls));
  program.dispose();
  const bytes = engine.bundle(source, suites, options);
  await writeFiles([{ path: output, write: (to) => to(bytes) }]);
  const methods = suites.map(({ methodName, testCases }) => ({
    method: methodName,
    cases: testCases.length,
  }));
  for (const { method, cases } of methods) tell(`${method}: ${counted(cases, "case")}`);
  if (isJson()) printJson({ kind: "bundle", program: path, output, bytes: bytes.length, methods });
  return EXIT.done;
}

/** The command sconce bundle. */
export const BUNDLE = defineCommand({
  name: "bundle",
  summary: "packs a program together with test calls and the results they should give",
  examples: ["sconce bundle model.pte --calls calls.json -o model.bpte"],
  files: "FILE.pte",
  flags: FLAGS,
  run: bundle,
});
