// node tools/docs_flags.mjs: writes the flags of each command into docs/command-line.md, from the
// tables that the command itself is made of. With --check it changes nothing, and fails where the
// page is out of date.
import { readFileSync, writeFileSync } from "node:fs";
import { COMMANDS } from "../dist/cli/commands.js";
import { headOf } from "../dist/cli/shell/help.js";
import { inRoot } from "./steps.mjs";

const page = inRoot("docs/command-line.md");
const cell = (text) => text.replaceAll("|", "\\|").replaceAll("<", "&lt;");

function tableOf({ name, flags }) {
  const rows = Object.entries(flags).map(([flag, row]) => {
    const again = row.multiple ? "; may be repeated" : "";
    return `| \`${headOf(flag, row)}\` | ${cell(row.text)}${again} |`;
  });
  return [`<!-- flags: ${name} -->`, "", "| flag | meaning |", "| --- | --- |", ...rows].join("\n");
}

const before = readFileSync(page, "utf8");
const after = before.replace(/<!-- flags: (\w+) -->\n\n(?:\|.*\n)*\n*/g, (_, name) => {
  const command = COMMANDS.find((one) => one.name === name);
  if (!command) throw new Error(`docs/command-line.md: there is no command ${name}`);
  return `${tableOf(command)}\n\n`;
});
for (const { name } of COMMANDS)
  if (!after.includes(`<!-- flags: ${name} -->`))
    throw new Error(`docs/command-line.md: the flags of ${name} have no place`);

if (!process.argv.includes("--check")) writeFileSync(page, after);
else if (after !== before) {
  console.error("docs/command-line.md is out of date: node tools/docs_flags.mjs");
  process.exitCode = 1;
}
