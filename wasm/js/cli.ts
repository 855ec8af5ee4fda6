#!/usr/bin/env node
// The command line: picks the command, turns what it throws into an exit code. 0 done, 1 the input or
// model is at fault, 2 wrong usage; results on stdout, messages on stderr.
import { readFileSync } from "node:fs";
import { didYouMean } from "./base/nearest.js";
import { parseCommand, type Command } from "./cli/shell/command.js";
import { COMMANDS } from "./cli/commands.js";
import { printError } from "./cli/print/errors.js";
import { helpOf, listHelp, shortHelp } from "./cli/shell/help.js";
import { reason } from "./cli/files/files.js";
import { errorJson, printJson } from "./cli/print/json.js";
import { setMode, warn } from "./cli/print/terminal.js";
import { EXIT, UsageError } from "./cli/usage.js";

const NAMES = COMMANDS.map(({ name }) => name);

const commandOf = (name: string | undefined): Command | undefined =>
  COMMANDS.find((command) => command.name === name);

function print(text: string): number {
  process.stdout.write(text);
  return EXIT.done;
}

function version(): string {
  const text = readFileSync(new URL("../package.json", import.meta.url), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}

function unknownCommand(name: string): UsageError {
  const meant = didYouMean(name, NAMES, String);
  return new UsageError(
    `there is no command '${name}'`,
    `${meant} The commands are ${NAMES.join(", ")}.`.trimStart(),
  );
}

/** sconce help, and sconce help COMMAND. */
function help(name: string | undefined): number {
  if (name === undefined || name === "help") return print(listHelp(COMMANDS));
  const command = commandOf(name);
  if (!command) throw unknownCommand(name);
  return print(helpOf(command));
}

/** Words in the place of a command that are not commands. */
const WORDS: Readonly<Record<string, (rest: readonly string[]) => number>> = {
  help: ([name]) => help(name),
  "--help": () => help(undefined),
  "-h": () => help(undefined),
  version: () => print(`${version()}\n`),
  "--version": () => print(`${version()}\n`),
  "-V": () => print(`${version()}\n`),
  "-v": () => print(`${version()}\n`),
};

async function run(name: string, rest: readonly string[]): Promise<number> {
  if (Object.hasOwn(WORDS, name)) return WORDS[name]!(rest);
  const command = commandOf(name);
  if (!command) throw unknownCommand(name);
  const { values, files } = parseCommand(command, rest);
  if (values["help"]) return print(helpOf(command));
  setMode({ json: values["json"] === true, quiet: values["quiet"] === true });
  return command.run(values, files);
}

/** Before a "--", after which no word is a flag; asked where the flags could not be read. */
const wantsJson = (args: readonly string[]): boolean => {
  const end = args.indexOf("--");
  return args.slice(0, end < 0 ? args.length : end).includes("--json");
};

/** Says what went wrong; gives the exit code. */
function failed(error: unknown, name: string, args: readonly string[]): number {
  const isUsage = error instanceof UsageError;
  const command = commandOf(name);
  if (isUsage) {
    warn(`sconce${command ? ` ${name}` : ""}: ${error.message}`);
    if (error.hint) warn(`  ${error.hint}`);
    warn(`Try sconce ${command ? `${name} ` : ""}--help.`);
  } else printError(error);
  if (wantsJson(args))
    printJson({ ...(command && { kind: name }), error: errorJson(error, () => "") });
  return isUsage ? EXIT.usage : EXIT.failed;
}

async function main(args: readonly string[]): Promise<number> {
  const [name, ...rest] = args;
  if (name === undefined) {
    process.stderr.write(shortHelp(COMMANDS));
    return EXIT.usage;
  }
  try {
    return await run(name, rest);
  } catch (error) {
    return failed(error, name, rest);
  }
}

// A reader that has seen enough, such as head, is not a fault: the command ends as if it had read on.
for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") return;
    if (stream === process.stdout)
      warn(`sconce: cannot write the standard output: ${reason(error)}`);
    process.once("exit", () => (process.exitCode = EXIT.failed));
  });
}

// Modules of the user's own may print. The standard output is for files and JSON.
for (const name of ["log", "info", "debug"] as const) console[name] = console.error.bind(console);

process.exitCode = await main(process.argv.slice(2));
