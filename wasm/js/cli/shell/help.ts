// The help of the commands, from their tables.
import type { Command } from "./command.js";
import type { Flag } from "./flag.js";

const INDENT = 27;
const WIDTH = 100;

function wrapped(text: string): string {
  const lines = [""];
  for (const word of text.split(" ")) {
    const line = `${lines.at(-1)} ${word}`.trimStart();
    if (INDENT + line.length <= WIDTH) lines[lines.length - 1] = line;
    else lines.push(word);
  }
  return lines.join(`\n${" ".repeat(INDENT)}`);
}

/** A flag as it is typed: "-o, --output PATH". */
export function headOf(name: string, { short, value, optional }: Flag): string {
  const shown = optional ? `[${value}]` : value;
  return `${short ? `-${short}, ` : ""}--${name}${shown ? ` ${shown}` : ""}`;
}

/** One flag, on a line or more. */
function flagLines(name: string, flag: Flag): string {
  const head = `  ${headOf(name, flag)}`;
  const gap = head.length < INDENT ? head.padEnd(INDENT) : `${head}\n${" ".repeat(INDENT)}`;
  const again = flag.multiple ? "; may be repeated" : "";
  const heading = flag.heading ? `\n  ${flag.heading}:\n` : "";
  return `${heading}${gap}${wrapped(flag.text + again)}\n`;
}

/** The help of one command. */
export function helpOf({ name, summary, examples, flags }: Command): string {
  const lines = Object.entries(flags).map(([flag, row]) => flagLines(flag, row));
  const ways = examples.map((example) => `  ${example}\n`).join("");
  return `sconce ${name}: ${summary}\n\n${ways}\n${lines.join("")}`;
}

/** The ten lines that the program prints without a command. */
export function shortHelp(commands: readonly Command[]): string {
  const names = commands.map(({ name }) => name).join(", ");
  return `sconce: lowers PyTorch programs to ExecuTorch programs, and runs them

  sconce lower model.pt2 -o model.pte       make a .pte of what torch.export.save wrote
  sconce run model.pte --input random:1     run it
  sconce inspect model.pte                  see what is in a file

  commands: ${names}
  sconce help             what each of them does
  sconce help COMMAND     all about one of them
`;
}

/** The list of the commands. */
export function listHelp(commands: readonly Command[]): string {
  const width = Math.max(...commands.map(({ name }) => name.length));
  const list = commands.map(({ name, summary }) => `  ${name.padEnd(width)}   ${summary}\n`);
  return `sconce: lowers PyTorch programs to ExecuTorch programs, and runs them

usage: sconce COMMAND ...
       sconce help COMMAND     all about a command, as sconce COMMAND --help
       sconce --version

${list.join("")}
A first try: export a model in Python,
  torch.export.save(torch.export.export(model.eval(), (x,)), "model.pt2")
then
  sconce lower model.pt2 -o model.pte
  sconce run model.pte --input random:1

A file named - is the standard input, or the standard output.
Exit codes: 0 done, 1 the input or the model is at fault, 2 wrong usage.
`;
}
