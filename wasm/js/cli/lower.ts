// sconce lower: one file, several files each on its own, or several files as methods of one program.
import { closeSync, openSync, renameSync, rmSync, writeSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { parseConstant } from "../constant.js";
import type { SconceError } from "../errors.js";
import type {
  ConstantValue,
  Engine,
  ExecutorchProgramManager,
  LowerOptions,
  Programs,
} from "../types.js";
import {
  EXIT,
  formatBytes,
  makeEngine,
  makeFolder,
  parse,
  printError,
  statsOf,
  terminalProgress,
  UsageError,
  writing,
} from "./common.js";

export const LOWER_HELP = `sconce lower: .pt2 files to .pte files

  sconce lower model.pt2 -o model.pte
  sconce lower a.pt2 b.pt2 -o folder/          each on its own; a failure does not stop the rest
  sconce lower --method prefill=p.pt2 --method decode=d.pt2 -o both.pte

  -o, --output PATH        the .pte to write, or a folder (ends in / or exists)
  --method NAME=FILE       FILE as method NAME; may be repeated
  --constant NAME=VALUE    a method that answers VALUE: an integer (256, -0 is 0), a float (0.5, 1e3, -0.0,
                           inf, nan), true, false, a JSON list of these ([1, 2]), a JSON string
                           ("256"), or any other text as it is
  --share-state            buffers of equal name are one buffer in all methods (a KV cache)
  --external-constants     weights go to a .ptd beside the .pte
  --memory-planning HOW    best (default), greedy, naive
`;

function constantOf(text: string): ConstantValue {
  try {
    return parseConstant(text);
  } catch (error) {
    const { message, hint } = error as SconceError;
    throw new UsageError(`${message}\n  ${hint}`);
  }
}

function splitPair(text: string, what: string): [string, string] {
  const at = text.indexOf("=");
  if (at <= 0 || at === text.length - 1)
    throw new UsageError(
      `--${what} takes NAME=${what === "method" ? "FILE" : "VALUE"}, not '${text}'`,
    );
  return [text.slice(0, at), text.slice(at + 1)];
}

function pairs(list: readonly string[], what: string): Record<string, string> {
  // Without a prototype, so that any name is just a name.
  const result = Object.create(null) as Record<string, string>;
  for (const text of list) {
    const [name, value] = splitPair(text, what);
    if (Object.hasOwn(result, name)) throw new UsageError(`--${what} ${name} is given twice`);
    result[name] = value;
  }
  return result;
}

/** Writes a file under a temporary name and renames it: a failed command leaves no output behind. */
function writeWhole(path: string, write: (sink: (chunk: Uint8Array) => void) => void): void {
  const temporary = `${path}.${process.pid}.tmp`;
  let descriptor: number | undefined;
  try {
    const open = (descriptor = openSync(temporary, "w"));
    write((chunk) => {
      for (let done = 0; done < chunk.length;) done += writeSync(open, chunk, done);
    });
    closeSync(open);
    descriptor = undefined;
    renameSync(temporary, path);
  } catch (error) {
    if (descriptor !== undefined) closeSync(descriptor);
    rmSync(temporary, { force: true });
    throw error;
  }
}

/** Where a .ptd goes: named after the .pte, so that programs in one folder keep theirs apart. */
function dataPath(output: string, name: string, count: number): string {
  const stem = output.replace(/\.pte$/, "");
  return count === 1 ? `${stem}.ptd` : `${stem}.${name}`;
}

function writeProgram(program: ExecutorchProgramManager, output: string): void {
  const written: string[] = [];
  try {
    for (const { name } of program.dataFiles) {
      const path = dataPath(output, name, program.dataFiles.length);
      writing(path, () => writeWhole(path, (sink) => program.writeSync(sink, name)));
      written.push(path);
    }
    writing(output, () => writeWhole(output, (sink) => program.writeSync(sink)));
  } catch (error) {
    for (const path of written) rmSync(path, { force: true });
    throw error;
  }
}

function lowerOne(
  engine: Engine,
  subject: string,
  programs: Programs,
  options: LowerOptions,
  output: string,
): void {
  const progress = terminalProgress(subject);
  const begin = performance.now();
  try {
    const listening = progress.onProgress ? { onProgress: progress.onProgress } : {};
    const program = engine.lower(programs, { ...options, ...listening });
    try {
      const ms = performance.now() - begin;
      writeProgram(program, output);
      progress.clear();
      const methods = [...program.methods, ...program.configMethods].join(", ");
      const beside = program.dataFiles.map(
        ({ name, size }) =>
          `, ${dataPath(output, name, program.dataFiles.length)}: ${formatBytes(size)}`,
      );
      process.stdout.write(
        `${output}: ${formatBytes(program.size)}${beside.join("")}, methods ${methods}, lowered in ${ms.toFixed(1)} ms\n`,
      );
    } finally {
      program.dispose();
    }
  } finally {
    progress.clear();
  }
}

function isFolder(path: string): boolean {
  return path.endsWith("/") || (statsOf(path)?.isDirectory() ?? false);
}

function outputFor(file: string, output: string, single: boolean): string {
  if (single && !isFolder(output)) return output;
  return join(output, basename(file).replace(/\.pt2$/, "") + ".pte");
}

function lowerEach(
  engine: Engine,
  files: readonly string[],
  options: LowerOptions,
  output: string,
): number {
  const single = files.length === 1;
  if (!single && !isFolder(output) && (output.endsWith(".pte") || statsOf(output)?.isFile())) {
    throw new UsageError(
      `several files need a folder to go to, not ${output}: -o folder/ lowers each on its own, ` +
        "--method NAME=FILE makes them methods of one program",
    );
  }
  const targets = files.map((file) => outputFor(file, output, single));
  const own = files.find((file, i) => resolve(file) === resolve(targets[i]!));
  if (own) throw new UsageError(`${own} would be overwritten: name another output`);
  const twice = targets.find((target, i) => targets.indexOf(target) !== i);
  if (twice) throw new UsageError(`two of the files would be written to ${twice}`);
  if (!single || isFolder(output)) writing(output, () => makeFolder(output));
  let code: number = EXIT.done;
  files.forEach((path, i) => {
    try {
      lowerOne(engine, path, { path }, options, targets[i]!);
    } catch (error) {
      printError(error, path);
      code = EXIT.failed;
    }
  });
  return code;
}

export async function lowerCommand(args: string[]): Promise<number> {
  const { values, positionals } = parse({
    args,
    allowPositionals: true,
    options: {
      output: { type: "string", short: "o" },
      method: { type: "string", multiple: true },
      constant: { type: "string", multiple: true },
      "share-state": { type: "boolean" },
      "external-constants": { type: "boolean" },
      "memory-planning": { type: "string" },
      help: { type: "boolean", short: "h" },
    },
  });
  if (values.help) {
    process.stdout.write(LOWER_HELP);
    return EXIT.done;
  }
  if (!values.output) throw new UsageError("say where the .pte goes: -o model.pte");
  const methods = pairs(values.method ?? [], "method");
  if (Object.keys(methods).length > 0 && positionals.length > 0) {
    throw new UsageError("give files as methods (--method NAME=FILE) or on their own, not both");
  }
  if (Object.keys(methods).length === 0 && positionals.length === 0)
    throw new UsageError("say which .pt2 to lower");
  const planning = values["memory-planning"] ?? "best";
  if (planning !== "best" && planning !== "greedy" && planning !== "naive") {
    throw new UsageError(`--memory-planning is best, greedy or naive, not '${planning}'`);
  }
  const constants = Object.entries(pairs(values.constant ?? [], "constant"));
  const options: LowerOptions = {
    constantMethods: Object.fromEntries(constants.map(([name, text]) => [name, constantOf(text)])),
    shareMutableBuffers: values["share-state"] ?? false,
    externalConstants: values["external-constants"] ?? false,
    memoryPlanning: planning,
  };
  const engine = await makeEngine();
  if (positionals.length > 0) return lowerEach(engine, positionals, options, values.output);
  const target = resolve(values.output);
  if (Object.values(methods).some((path) => resolve(path) === target)) {
    throw new UsageError(`${values.output} would be overwritten: name another output`);
  }
  const programs = Object.fromEntries(
    Object.entries(methods).map(([name, path]) => [name, { path }]),
  );
  if (isFolder(values.output))
    throw new UsageError("one program needs the name of a file: -o model.pte");
  lowerOne(engine, values.output, programs, options, values.output);
  return EXIT.done;
}
