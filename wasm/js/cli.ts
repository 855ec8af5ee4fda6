#!/usr/bin/env node
// The command line: picks the command, turns what it throws into an exit code. 0 done, 1 the input or
// model is at fault, 2 wrong usage; results on stdout, messages on stderr.
import { readFileSync } from "node:fs";
import { BUNDLE_HELP, bundleCommand } from "./cli/bundle.js";
import { EXIT, printError, say, UsageError, warn } from "./cli/common.js";
import { EXPORT_HELP, exportCommand } from "./cli/export.js";
import { INSPECT_HELP, inspectCommand } from "./cli/inspect.js";
import { LOWER_HELP, lowerCommand } from "./cli/lower.js";
import { OPERATORS_HELP, operatorsCommand } from "./cli/operators.js";
import { RUN_HELP, runCommand } from "./cli/run.js";
import { STUDIO_HELP, studioCommand } from "./cli/studio.js";

const COMMANDS: Record<string, (args: string[]) => Promise<number>> = {
  lower: lowerCommand,
  export: exportCommand,
  run: runCommand,
  inspect: inspectCommand,
  bundle: bundleCommand,
  operators: operatorsCommand,
  studio: studioCommand,
};

const HELP = `sconce: PyTorch programs to ExecuTorch programs, and run them

usage: sconce lower | export | run | inspect | bundle | operators | studio ...   sconce COMMAND --help says more
       sconce --version

${LOWER_HELP}
${EXPORT_HELP}
${RUN_HELP}
${INSPECT_HELP}
${BUNDLE_HELP}
${OPERATORS_HELP}
${STUDIO_HELP}
A first try: export a model in Python,
  torch.export.save(torch.export.export(model.eval(), (x,)), "model.pt2")
then
  sconce lower model.pt2 -o model.pte
  sconce run model.pte --input random:1

Exit codes: 0 done, 1 the input or model is at fault, 2 wrong usage.
`;

async function main(args: string[]): Promise<number> {
  const [name, ...rest] = args;
  if (name === "--help" || name === "-h" || name === "help") {
    process.stdout.write(HELP);
    return EXIT.done;
  }
  if (name === "--version" || name === "-V") {
    say(JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")).version);
    return EXIT.done;
  }
  const command = name === undefined ? undefined : COMMANDS[name];
  if (!command || !Object.hasOwn(COMMANDS, name!)) {
    if (name === undefined) process.stderr.write(HELP);
    else warn(`sconce: there is no command '${name}'; try sconce --help`);
    return EXIT.usage;
  }
  try {
    return await command(rest);
  } catch (error) {
    if (error instanceof UsageError) {
      warn(`sconce ${name}: ${error.message}`);
      if (error.hint) warn(`  ${error.hint}`);
      warn(`Try sconce ${name} --help.`);
      return EXIT.usage;
    }
    printError(error);
    return EXIT.failed;
  }
}

// A reader that has seen enough, such as head, is not a fault: the command ends as if it had read on.
for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") process.once("exit", () => (process.exitCode = EXIT.failed));
  });
}

process.exitCode = await main(process.argv.slice(2));
