// Programs as files under a name: what sessions do, here and in a worker.
import { isObject, mustBe } from "../base/check.js";
import { SconceError } from "../base/errors.js";
import type { FileSinks, Sink } from "../types/index.js";

/** The parts of a program that saving needs, wherever the program lives. */
export interface Saved {
  readonly dataFiles: readonly { readonly name: string; readonly isShared?: true }[];
  writeTo(sink: Sink, file?: string): Promise<void>;
}

/**
 * The name of a .ptd next to STEM.pte: after that, so that programs in one folder keep theirs apart, but
 * a file that programs share has the name that it was given.
 */
export function dataFileName(
  stem: string,
  { name, isShared }: { readonly name: string; readonly isShared?: true },
  count: number,
): string {
  if (isShared) return name;
  return count === 1 ? `${stem}.ptd` : `${stem}.${name}`;
}

/** Streams of Node have an `open` of their own. */
function isFileSinks(sink: Sink | FileSinks): sink is FileSinks {
  const members: Record<string, unknown> = isObject(sink) ? sink : {};
  const has = (name: string): boolean => typeof members[name] === "function";
  return has("open") && !has("write") && !has("getWriter");
}

const severalFiles = (count: number): SconceError =>
  new SconceError(
    "argument",
    `the program also has ${count === 1 ? "a data file" : `${count} data files`}`,
    "Pass { open: (file) => sink }, which is asked for the sink of each.",
  );

/** Throws unless a program can be saved under the name. */
export const checkName = (name: unknown): void => mustBe("name", "the name of saveToPte()", name);

/** Writes the program under the name, and its data files next to it; gives the names. */
export async function savePte(
  program: Saved,
  name: string,
  sink: Sink | FileSinks,
): Promise<string[]> {
  const { dataFiles } = program;
  const stem = name.replace(/\.pte$/, "");
  const files = dataFiles.map((file) => ({
    file: file.name,
    to: dataFileName(stem, file, dataFiles.length),
  }));
  if (!isFileSinks(sink)) {
    if (files.length > 0) throw severalFiles(files.length);
    await program.writeTo(sink);
    return [`${stem}.pte`];
  }
  await program.writeTo(await sink.open(`${stem}.pte`));
  for (const { file, to } of files) await program.writeTo(await sink.open(to), file);
  return [`${stem}.pte`, ...files.map(({ to }) => to)];
}
