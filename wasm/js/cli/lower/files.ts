// The files that sconce lower and sconce export write: the program, its data, records and reports.
import { basename, join } from "node:path";
import { formatBytes } from "../../base/size.js";
import { dataFileName } from "../../sink/saving.js";
import type { CallOptions, DataFile, ExecutorchProgramManager } from "../../types/index.js";
import { jsonText } from "../print/json.js";
import { holds, keepInputs, writeFiles, type Writer } from "../files/files.js";
import { note } from "../print/terminal.js";
import { isNowhere, isOutputStream } from "../files/streams.js";
import { UsageError } from "../usage.js";

/** A file to write, with the function that writes it. */
export type Output = Parameters<typeof writeFiles>[0][number];

/** The place of a .ptd, in the folder of the .pte. */
export function dataPath(output: string, file: Omit<DataFile, "size">, count: number): string {
  if (isNowhere(output)) return output;
  if (isOutputStream(output))
    throw new UsageError(
      "a program with data files cannot go to the standard output",
      "Name a file, -o model.pte, or leave out --external-constants.",
    );
  if (/[/\\]/.test(file.name))
    throw new UsageError(`the data file '${file.name}' would leave the folder of ${output}`);
  const stem = basename(output).replace(/\.pte$/, "");
  return output.slice(0, output.length - basename(output).length) + dataFileName(stem, file, count);
}

/** The place of the record of a method. */
function recordPath(folder: string, method: string): string {
  if (/[/\\]|^\.\.?$/.test(method))
    throw new UsageError(`the record of method '${method}' would leave the folder ${folder}`);
  return join(folder, `${method}.etrecord`);
}

/** The records that are asked for. */
export interface Records {
  readonly etrecord: string | undefined;
  /** The folder for a record of each method. */
  readonly perMethod: string | undefined;
}

/** The records that are asked for: one of all methods, and one of each. */
export function recordFiles(
  program: ExecutorchProgramManager,
  { etrecord, perMethod }: Records,
  options: CallOptions,
): Output[] {
  const write = (path: string, method?: string): Output => ({
    path,
    write: (writer: Writer) =>
      program.etrecord.save(writer, { ...options, ...(method && { method }) }),
  });
  return [
    ...(etrecord === undefined ? [] : [write(etrecord)]),
    ...(perMethod === undefined
      ? []
      : program.methods.map((method) => write(recordPath(perMethod, method), method))),
  ];
}

/** The report of --report, where it is asked for. */
export function reportFile(path: string | undefined, report: () => object): Output[] {
  if (path === undefined) return [];
  const write = (writer: Writer): Promise<void> =>
    writer(new TextEncoder().encode(jsonText(report())));
  return [{ path, write }];
}

/** Says so of files that other programs may share and that get other weights. */
async function noteReplaced(
  program: ExecutorchProgramManager,
  files: readonly (Output & { readonly shared?: string })[],
): Promise<void> {
  for (const { path, shared } of files)
    if (shared !== undefined && !(await holds(path, (writer) => program.writeTo(writer, shared))))
      note(
        `note: ${path} had other weights before: lower the other programs that use it again, too`,
      );
}

/** The .pte with its .ptd files, all or none: weights of one lowering never meet those of another. */
export async function writeProgram(
  program: ExecutorchProgramManager,
  output: string,
  inputs: readonly string[],
  options: CallOptions,
  extra: readonly Output[],
): Promise<void> {
  const files = program.dataFiles.map((file) => ({
    path: dataPath(output, file, program.dataFiles.length),
    write: (writer: Writer) => program.writeTo(writer, file.name, options),
    ...(file.isShared && { shared: file.name }),
  }));
  await noteReplaced(program, files);
  files.push({ path: output, write: (writer) => program.writeTo(writer, undefined, options) });
  for (const { path } of files) keepInputs(inputs, path);
  return writeFiles([...files, ...extra]);
}

/** A program that was written, as it stands in JSON. */
export interface WrittenProgram {
  readonly output: string;
  readonly bytes: number;
  readonly dataFiles: readonly { readonly path: string; readonly bytes: number }[];
  readonly methods: readonly string[];
  readonly configMethods: readonly string[];
  readonly milliseconds: number;
}

/** The files of a lowered program, as the report names them. */
export function writtenOf(
  program: ExecutorchProgramManager,
  output: string,
  milliseconds: number,
): WrittenProgram {
  const { size: bytes, dataFiles: files, methods, configMethods } = program;
  const dataFiles = files.map((file) => ({
    path: dataPath(output, file, files.length),
    bytes: file.size,
  }));
  return { output, bytes, dataFiles, methods, configMethods, milliseconds };
}

/** A program that was written, in a line; `done` is what was done to it. */
export function lineOf(written: WrittenProgram, done: string): string {
  const { output, bytes, dataFiles, methods, configMethods, milliseconds } = written;
  const name = isOutputStream(output) ? "standard output" : output;
  const data = dataFiles.map((file) => `, ${file.path}: ${formatBytes(file.bytes)}`).join("");
  const names = [...methods, ...configMethods].join(", ");
  return `${name}: ${formatBytes(bytes)}${data}, methods ${names}, ${done} in ${milliseconds.toFixed(1)} ms`;
}
