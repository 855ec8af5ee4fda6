// sconce bundle: a program and calls of its methods in one file.
import { dirname, resolve } from "node:path";
import { counted } from "../counted.js";
import { SconceError } from "../errors.js";
import type { Program, TestCase, TestSuite } from "../types.js";
import { importBackends } from "./backends.js";
import { readCalls, type Call } from "./calls.js";
import { EXIT, makeEngine, parse, say, UsageError } from "./common.js";
import { checkPlace, keepInputs, readWhole, statsOf, writeFiles } from "./files.js";
import { callInputs, methodInfo } from "./run.js";
import { readArray } from "./values.js";

export const BUNDLE_HELP = `sconce bundle: a program with calls of its methods and what they return

  sconce bundle model.pte --calls calls.json -o model.bpte

  --calls FILE      JSON: [{"method": "m", "inputs": ["x.npy", 3, true], "expected": ["y.npy"]}, ...],
                    the calls of sconce run; without "expected", what the call returns here. Each
                    starts from the program's first state, and returns tensors
  -o, --output FILE the bundled program
  --data FILE       a .ptd that the program needs; may be repeated
  --import FILE     a JavaScript module whose default export is a backend; may be repeated
`;

/** The calls of the file, if they can be bundled. */
function callsOf(path: string): Call[] {
  const calls = readCalls(path);
  if (calls.length === 0)
    throw new SconceError("format", `${path} holds no calls`, "Write at least one to be bundled.");
  const wrong = calls.findIndex(({ out }) => out !== undefined);
  if (wrong >= 0)
    throw new SconceError(
      "format",
      `call ${wrong} of ${path} has "out", and a bundle writes no results`,
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
        `method '${info.name}' has ${counted(info.outputs.length, "output")}, not more`,
      );
    return readArray(statsOf(path) ? path : resolve(folder, path), output, readWhole);
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

export async function bundleCommand(args: string[]): Promise<number> {
  const { values, positionals } = parse({
    args,
    allowPositionals: true,
    options: {
      calls: { type: "string" },
      output: { type: "string", short: "o" },
      data: { type: "string", multiple: true },
      import: { type: "string", multiple: true },
      help: { type: "boolean", short: "h" },
    },
  });
  if (values.help) {
    process.stdout.write(BUNDLE_HELP);
    return EXIT.done;
  }
  if (positionals.length !== 1) throw new UsageError("say which .pte to bundle, and only one");
  const path = positionals[0]!;
  const { calls, output, data = [] } = values;
  if (!calls) throw new UsageError("say which calls go with it: --calls calls.json");
  if (!output) throw new UsageError("say where it goes: -o model.bpte");
  keepInputs([path, calls, ...data], output);
  const given = callsOf(calls);
  checkPlace(output);
  const engine = await makeEngine();
  await importBackends(engine, values.import ?? []);
  const options = { dataFiles: data.map((file) => ({ path: file })) };
  const program = engine.load({ path }, options);
  const suites = suitesOf(program, given, dirname(calls));
  program.dispose();
  const bytes = engine.bundle({ path }, suites, options);
  await writeFiles([{ path: output, write: (to) => to(bytes) }]);
  for (const { methodName, testCases } of suites)
    say(`${methodName}: ${testCases.length} case${testCases.length === 1 ? "" : "s"}`);
  return EXIT.done;
}
