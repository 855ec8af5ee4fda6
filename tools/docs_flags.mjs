// npm run docs: writes the flags of each command into docs/command-line.md, from the tables that the
// command itself is made of. With --check it changes nothing, and fails where the page is out of date.
import { readFileSync, writeFileSync } from "node:fs";
import { COMMANDS } from "../dist/cli/commands.js";
import { headOf } from "../dist/cli/shell/help.js";
import { inRoot } from "./steps.mjs";

const page = inRoot("docs/command-line.md");

/** The text of a flag as sentences. Words that the flag takes keep their small letters. */
function sentences({ text, words }) {
  const plain = text
    .replaceAll("<", "&lt;")
    .replaceAll("*", "\\*")
    .replace(/(?<![.])$/, ".");
  return words ? plain : `${plain[0].toUpperCase()}${plain.slice(1)}`;
}

function listOf({ name, flags }) {
  const rows = Object.entries(flags).map(([flag, row]) => {
    const again = row.multiple ? " The flag may be repeated." : "";
    return `- \`${headOf(flag, row)}\`: ${sentences(row)}${again}`;
  });
  return [`<!-- flags: ${name} -->`, "", ...rows, "", "<!-- end of flags -->"].join("\n");
}

const before = readFileSync(page, "utf8");
const after = before.replace(/<!-- flags: ([\w-]+) -->[^]*?<!-- end of flags -->/g, (_, name) => {
  const command = COMMANDS.find((one) => one.name === name);
  if (!command) throw new Error(`docs/command-line.md: there is no command ${name}`);
  return listOf(command);
});
for (const { name } of COMMANDS)
  if (!after.includes(`<!-- flags: ${name} -->`))
    throw new Error(`docs/command-line.md: the flags of ${name} have no place`);

if (!process.argv.includes("--check")) writeFileSync(page, after);
else if (after !== before) {
  console.error("docs/command-line.md is out of date: npm run docs");
  process.exitCode = 1;
}
