// Everything about one operator on one page: its rows in every table, the functions behind them, who
// uses it, and its tests.
//   npm run operator -- NAME [--json]
//   npm run operator -- --lacking [--json]
// NAME is "cat", "add.Tensor", "aten::add.Tensor" or the row's own id, add_Tensor. A name without
// an overload shows all of them. Nothing here is written by hand: see tools/operator.
import { aboutTable, columnNames, plain } from "./operator/tables.mjs";
import { adviceOf, advices, find, near, story } from "./operator/story.mjs";

const at = ({ file, line }) => `${file}:${line}`;
const say = (text = "") => console.log(text);
const most = 10;

function sayColumns(row) {
  const names = columnNames(row.kind);
  const width = Math.max(...names.map((name) => name.length));
  row.columns.forEach((column, index) => {
    const name = names[index] ?? "";
    say(`    ${name.padEnd(width)}  ${plain(column)}`);
  });
}

function sayRow(row) {
  const names = columnNames(row.kind);
  const whole = row.columns.map((column, i) => `${names[i] ?? ""} ${plain(column)}`.trim());
  if (whole.join(", ").length <= 80 && row.words.length === 0)
    say(`    ${row.kind}: ${whole.join(", ")}`);
  else sayColumns(row);
  for (const { word, meaning } of row.words) say(`    ${word}: ${meaning}`);
  for (const one of row.functions) say(`    -> ${one.name}  ${at(one)}`);
}

function sayRows({ rows }) {
  let table;
  for (const row of rows) {
    if (row.table !== table) say(`\n${aboutTable(row.table)}`);
    table = row.table;
    say(`  ${row.table}:${row.line}`);
    sayRow(row);
  }
}

function few(items) {
  const rest = items.length - most;
  return items.slice(0, most).join(", ") + (rest > 0 ? `, and ${rest} more` : "");
}

function sayUses({ uses }) {
  const lines = new Map();
  for (const { file, line } of uses.code) lines.set(file, [...(lines.get(file) ?? []), line]);
  if (uses.texts.length + lines.size > 0) say("\nUsed by");
  if (uses.texts.length > 0) say(`  rows of ${few([...new Set(uses.texts.map(({ id }) => id))])}`);
  for (const [file, numbers] of lines) say(`  ${file}:${few(numbers)}`);
}

function sayTests({ tests }) {
  say(tests.length > 0 ? "\nTests" : "\nNo test names it.");
  for (const { file, lines, cases } of tests)
    say(`  ${file}: ${cases.length > 0 ? few(cases) : `${lines} ${lines > 1 ? "lines" : "line"}`}`);
}

function sayStory(story) {
  say(story.schema);
  say(`family ${story.family}`);
  sayRows(story);
  if (story.advice) say(`\nIf it cannot be lowered (${at(story.advice)})\n  ${story.advice.hint}`);
  sayUses(story);
  sayTests(story);
}

function sayUnknown(name) {
  const advice = adviceOf(name);
  const others = near(name);
  console.error(`There is no operator '${name}' in src/ops.`);
  if (advice) console.error(`It cannot be lowered (${at(advice)}): ${advice.hint}`);
  if (others.length > 0) console.error(`Names like it: ${others.join(", ")}.`);
  process.exitCode = 1;
}

// Operators that are refused, by the patterns of foreign.def.
function sayLacking() {
  if (isJson) return say(JSON.stringify(advices(), null, 2));
  for (const advice of advices()) say(`${advice.pattern}  (${at(advice)})\n  ${advice.hint}`);
}

const USAGE = `usage: npm run operator -- NAME... [--json]
       npm run operator -- --lacking [--json]
  NAME        all rows, functions, uses and tests of an operator: "cat", "add.Tensor",
              "aten::add.Tensor", or the row's own id, add_Tensor
  --lacking   the operators that lowering refuses, with the advice for each;
              sconce operators --lacking lists those that one of the runtimes does not run
  --json      print JSON
  --help      print this help
Exit codes: 0 done, 1 there is no such operator, 2 wrong usage.`;

const args = process.argv.slice(2);
const names = args.filter((arg) => !arg.startsWith("-"));
const wrong = args.find(
  (arg) => /^-/.test(arg) && !["--json", "--lacking", "--help"].includes(arg),
);
const isLacking = args.includes("--lacking");
const isJson = args.includes("--json");

function sayStories() {
  const stories = names.flatMap((name) => {
    const found = find(name);
    if (found.length === 0) sayUnknown(name);
    return found.map(story);
  });
  if (isJson) return say(JSON.stringify(stories, null, 2));
  stories.forEach((story, index) => {
    if (index > 0) say(`\n${"-".repeat(100)}\n`);
    sayStory(story);
  });
}

if (args.includes("--help")) say(USAGE);
else if (wrong || isLacking === names.length > 0) {
  if (wrong) console.error(`There is no option ${wrong}.`);
  console.error(USAGE);
  process.exitCode = 2;
} else if (isLacking) sayLacking();
else sayStories();
