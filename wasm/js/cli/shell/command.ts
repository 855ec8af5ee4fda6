// A command as a table: its flags with their help, and what it takes. Parser, help and completion
// read the same rows, so that none of them knows a flag that another does not.
import { parseArgs, type ParseArgsConfig } from "node:util";
import { didYouMean } from "../../base/nearest.js";
import type { OptionCall } from "../../border/option.js";
import { optionFlags } from "./flags.js";
import type { Flags } from "./flag.js";
import { UsageError } from "../usage.js";

/** The values of flags, by name. */
export type ValuesOf<F extends Flags> = {
  -readonly [K in keyof F]?: F[K]["type"] extends "boolean"
    ? boolean
    : F[K] extends { readonly multiple: true }
      ? string[]
      : string;
};

interface Definition<F extends Flags> {
  readonly name: string;
  /** In the list of commands. */
  readonly summary: string;
  /** Lines of the help: ways to call it. */
  readonly examples: readonly string[];
  /** Stands for the files of the command in its usage; "" if it takes none. */
  readonly files: string;
  /** The words that stand in the place of files, where there are no others. */
  readonly words?: readonly string[];
  readonly flags: F;
  /** Calls of the library whose options are flags, too. */
  readonly options?: readonly OptionCall[];
  run(values: ValuesOf<F & Common>, files: string[]): Promise<number>;
}

const COMMON = {
  json: { type: "boolean", text: "print the result, or the error, as one JSON document" },
  quiet: {
    type: "boolean",
    short: "q",
    text: "print results and errors only: no progress, warnings, notes or summaries",
  },
  help: { type: "boolean", short: "h", text: "print this help" },
} as const satisfies Flags;
type Common = typeof COMMON;

/** A command that is ready to be called. */
export interface Command {
  readonly name: string;
  readonly summary: string;
  readonly examples: readonly string[];
  readonly files: string;
  readonly words?: readonly string[];
  /** All of them: its own, those of options, and the common ones. */
  readonly flags: Flags;
  run(values: Readonly<Record<string, unknown>>, files: string[]): Promise<number>;
}

/** Makes a command of its table. */
export function defineCommand<const F extends Flags>(definition: Definition<F>): Command {
  const { flags, options = [], run, ...rest } = definition;
  return {
    ...rest,
    flags: { ...flags, ...optionFlags(options), ...COMMON },
    // The parser has checked the values against the flags.
    run: (values, files) => run(values as ValuesOf<F & Common>, files),
  };
}

// --- The parser --------------------------------------------------------------------------------------

/** The arguments of a command: values of flags, and files. */
export interface Parsed {
  readonly values: Readonly<Record<string, unknown>>;
  readonly files: string[];
}

type Token = Extract<
  NonNullable<ReturnType<typeof parseArgs>["tokens"]>[number],
  { kind: "option" }
>;

const spelt = (name: string): string => (name.length === 1 ? `-${name}` : `--${name}`);

function unknownFlag(command: Command, given: string): UsageError {
  const names = Object.keys(command.flags);
  return new UsageError(
    `there is no flag ${given}`,
    didYouMean(given.replace(/^-+/, ""), names, (best) => `--${best}`),
  );
}

/** A value that looks like a flag was most likely meant to be one; numbers may be negative. */
const looksLikeFlag = (text: string): boolean =>
  text.length > 1 && text.startsWith("-") && !/^-(\d|\.\d|inf$)/.test(text);

function checkToken(command: Command, { name, rawName, value, inlineValue }: Token): void {
  const flag = Object.hasOwn(command.flags, name) ? command.flags[name]! : undefined;
  if (!flag) throw unknownFlag(command, rawName);
  if (flag.type === "boolean") {
    if (value !== undefined) throw new UsageError(`${rawName} takes no value, and was given one`);
    return;
  }
  const wanted = `${rawName} ${flag.value ?? "VALUE"}`;
  if (value === undefined) throw new UsageError(`${rawName} lacks its value: ${wanted}`);
  if (!inlineValue && looksLikeFlag(value))
    throw new UsageError(
      `${rawName} lacks its value: ${wanted}`,
      `A value that begins with a dash is written ${spelt(name)}=${value}.`,
    );
  if (flag.words && !flag.words.includes(value)) throw notOneOf(rawName, flag.words, value);
}

/** The error for a word that a flag does not take. */
export function notOneOf(flag: string, words: readonly string[], given: string): UsageError {
  return new UsageError(
    `${flag} is one of ${words.join(", ")}, not '${given}'`,
    didYouMean(given, words, String),
  );
}

/** A usage error for an option that takes one value and is given two: the first would be lost. */
function refuseRepeats(command: Command, tokens: readonly Token[]): void {
  const seen = new Set<string>();
  for (const { name, rawName } of tokens) {
    const flag = command.flags[name]!;
    if (flag.type !== "string" || flag.multiple) continue;
    if (seen.has(name)) throw new UsageError(`${rawName} is given twice`);
    seen.add(name);
  }
}

/** Writes values that may be left out with their flags: an empty one for none. */
function joined(command: Command, args: readonly string[]): string[] {
  const all: string[] = [];
  const end = args.includes("--") ? args.indexOf("--") : args.length;
  for (let i = 0; i < args.length; i++) {
    const arg = args[i]!;
    const flag = i < end && arg.startsWith("--") ? command.flags[arg.slice(2)] : undefined;
    if (!flag?.optional) all.push(arg);
    else {
      const next = i + 1 < end ? args[i + 1]! : "";
      const isValue = next.includes("=") && !next.startsWith("-");
      all.push(`${arg}=${isValue ? next : ""}`);
      if (isValue) i++;
    }
  }
  return all;
}

/** Reads the arguments of a command; what is not of its table is a usage error. */
export function parseCommand(command: Command, args: readonly string[]): Parsed {
  const options: NonNullable<ParseArgsConfig["options"]> = Object.fromEntries(
    Object.entries(command.flags).map(([name, { type, short, multiple = false }]) => [
      name,
      { type, multiple, ...(short && { short }) },
    ]),
  );
  const config = {
    args: joined(command, args),
    options,
    allowPositionals: true,
    strict: false,
  } as const;
  const { values, positionals, tokens } = parseArgs({ ...config, tokens: true });
  const given = tokens.filter((token) => token.kind === "option");
  for (const token of given) checkToken(command, token);
  refuseRepeats(command, given);
  if (command.files === "" && positionals.length > 0 && !values["help"])
    throw new UsageError(
      `sconce ${command.name} takes no files, and was given '${positionals[0]}'`,
    );
  return { values: { ...values }, files: positionals };
}
