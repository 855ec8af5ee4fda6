// The results of sconce run: kept until all calls are done, then written to .npy files.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { isTensor } from "../../tensor/bytes.js";
import type { ProgramMethodInfo, Tensor, Value } from "../../types/index.js";
import { checkPlace, keepInputs, readWhole, realOf, writeFiles } from "../files/files.js";
import { writeNpy, writeNpyText } from "../files/npy.js";
import { isNowhere, isOutputStream } from "../files/streams.js";
import { UsageError } from "../usage.js";

function asTensor(value: number | bigint | boolean, kind: string): Tensor {
  if (typeof value === "boolean")
    return { dtype: "bool", shape: [], data: Uint8Array.of(value ? 1 : 0) };
  if (kind === "double")
    return { dtype: "float64", shape: [], data: Float64Array.of(Number(value)) };
  return { dtype: "int64", shape: [], data: BigInt64Array.of(BigInt(value)) };
}

/** The file of an output. */
export const outputPath = (folder: string, index: number): string =>
  join(folder, `output_${index}.npy`);

/** Equal for paths of one file. Streams and /dev/null are not files. */
const keyOf = (path: string): string =>
  isOutputStream(path) || isNowhere(path) ? path : realOf(path);

/** The method of a call, and the folder of its outputs. */
export interface Place {
  info: ProgramMethodInfo;
  folder: string | undefined;
}

/** Throws, before anything runs, where outputs cannot be written, or two calls' would be one file. */
export function checkOutputs(places: readonly Place[], dumps: readonly string[]): void {
  const owners = new Map(
    dumps.map((path): [string, number | undefined] => [realOf(path), undefined]),
  );
  for (const [call, { info, folder }] of places.entries())
    for (let i = 0; folder !== undefined && i < info.outputs.length; i++) {
      const path = outputPath(folder, i);
      const owner = owners.get(realOf(path));
      if (owner !== undefined)
        throw new UsageError(
          `calls ${owner} and ${call} would both write ${path}: give each an "out" of its own`,
        );
      if (owners.has(realOf(path)))
        throw new UsageError(`two of the files would be written to ${path}`);
      checkPlace(path);
      owners.set(realOf(path), call);
    }
}

/**
 * Results by their paths. They are kept here until all calls are done, because a later call may
 * read them. A command that fails leaves the results of an earlier one alone.
 */
export class Results {
  private readonly files = new Map<string, { path: string; bytes: Uint8Array }>();

  /** `inputs` are files that no result replaces. */
  constructor(private readonly inputs: readonly string[]) {}

  /** Throws where a file cannot be written, before there is anything to write. */
  check(path: string, more: readonly string[]): void {
    keepInputs([...this.inputs, ...more], path);
    checkPlace(path);
  }

  addFile(path: string, bytes: Uint8Array): void {
    keepInputs(this.inputs, path);
    this.files.set(keyOf(path), { path, bytes });
  }

  addDump(path: string, bytes: Uint8Array): void {
    if (this.files.has(keyOf(path)))
      throw new UsageError(`two of the files would be written to ${path}`);
    this.addFile(path, bytes);
  }

  add(folder: string, outputs: readonly Value[], info: ProgramMethodInfo): void {
    outputs.forEach((value, i) => {
      if (value === null) return;
      const path = outputPath(folder, i);
      const whole = (): Tensor =>
        isTensor(value)
          ? value
          : asTensor(value as number | bigint | boolean, info.outputs[i]!.kind);
      const bytes = typeof value === "string" ? writeNpyText(value) : writeNpy(whole());
      this.addFile(path, bytes);
    });
  }

  has(path: string): boolean {
    return this.files.has(keyOf(path)) || existsSync(path);
  }

  read(path: string): Uint8Array {
    return this.files.get(keyOf(path))?.bytes ?? readWhole(path);
  }

  write(): Promise<void> {
    return writeFiles(
      [...this.files.values()].map(({ path, bytes }) => ({ path, write: (to) => to(bytes) })),
    );
  }
}
