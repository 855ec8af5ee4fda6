// Inputs and outputs by name on the command line: --input mask=x.npy.
import { existsSync } from "node:fs";
import { orderedInputs, unknownInput } from "../program/call.js";
import type { ProgramMethodInfo, ProgramValueInfo, Value } from "../types/index.js";
import { UsageError } from "./common.js";

/** The name and the rest of "name=rest". Names may have "=" in them: the longest counts. */
function pairOf(text: string, info: ProgramMethodInfo): [string, string] | undefined {
  const names = info.inputs.map(({ name }) => name).filter((name) => text.startsWith(`${name}=`));
  const name = names.sort((a, b) => b.length - a.length)[0];
  if (name !== undefined) return [name, text.slice(name.length + 1)];
  const [, unknown] = /^([^=/\\]+)=/.exec(text) ?? [];
  const isText = info.inputs.some(({ kind }) => kind === "string");
  if (unknown !== undefined && !isText && !existsSync(text)) throw unknownInput(unknown, info);
  return undefined;
}

/** The texts of --input by name; undefined where they are given in order. */
export function namedTexts(
  texts: readonly string[],
  info: ProgramMethodInfo,
): Record<string, string> | undefined {
  const pairs = texts.map((text) => pairOf(text, info));
  const found = pairs.flatMap((pair) => (pair ? [pair] : []));
  if (found.length === 0) return undefined;
  const bare = pairs.indexOf(undefined);
  if (bare >= 0)
    throw new UsageError(
      `--input ${texts[bare]!} has no name, and others have: give all of them names, or none`,
    );
  const named = Object.fromEntries(found);
  const twice = found.find(([name], i) => found.findIndex(([other]) => other === name) < i);
  if (twice) throw new UsageError(`--input gives '${twice[0]}' two values`);
  return named;
}

/** The values of a method's inputs, in order, of what is given by name. */
export function valuesByName<Given>(
  given: Readonly<Record<string, Given>>,
  info: ProgramMethodInfo,
  read: (value: Given, input: ProgramValueInfo, index: number) => Value,
): Value[] {
  const values = info.inputs.flatMap((input, i): [string, Value][] =>
    Object.hasOwn(given, input.name) ? [[input.name, read(given[input.name]!, input, i)]] : [],
  );
  const unknown = Object.keys(given).filter((name) => !info.inputs.some((i) => i.name === name));
  if (unknown.length > 0) throw unknownInput(unknown[0]!, info);
  return [...orderedInputs(Object.fromEntries(values), info)];
}

/** An output as it is shown: by the name of its file, and its own where it has one. */
export function outputLabel({ outputs }: ProgramMethodInfo, index: number): string {
  const file = `output_${index}`;
  const name = outputs[index]?.name ?? file;
  return name === file ? file : `${file} (${name})`;
}
