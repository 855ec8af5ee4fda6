// docs/coverage.md says which operators the official runtime lacks, and which of them are expanded:
// held to the tables. With --update it is written again; reasons are kept.
import assert from "node:assert/strict";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";

const root = new URL("../../", import.meta.url);
const read = (path) => readFileSync(new URL(path, root), "utf8");
const page = new URL("docs/coverage.md", root);
const [start, end] = ["<!-- expansions -->\n", "<!-- end of expansions -->"];

// Every operator of the table that this runtime has a kernel for and the official one has not.
function lacking() {
  const found = new Map();
  for (const file of readdirSync(new URL("src/ops", root)).filter((name) =>
    /^ops_.*\.def$/.test(name),
  )) {
    const rows = read(`src/ops/${file}`)
      .replace(/\/\/.*/g, "")
      .split(/^OP\(/m)
      .slice(1);
    for (const row of rows) {
      const id = row.match(/^\w+/)[0];
      const schema = [...row.matchAll(/"([^"]*)"/g)].map((text) => text[1]).join("");
      const runs = /\b(KERNEL|POINTWISE)\(/.test(row);
      if (runs && /\bSC_UNOFFICIAL\b/.test(row) && !id.startsWith("sconce_"))
        found.set(id, schema.slice(0, schema.indexOf("(")));
    }
  }
  return found;
}

function expanded() {
  const rows = read("src/trace/official/official.def").matchAll(
    /^OFFICIAL\(\w+,\s*(\w+),\s*(ALWAYS|WHERE\(\w+\))\)/gm,
  );
  return new Map([...rows].map((row) => [row[1], row[2]]));
}

// Operators that are taken apart before anything is expanded never get there.
const isTakenApart = (id) =>
  new RegExp(`^OP\\(${id},[^;]*?\\bEXPAND(_FN)?\\(`, "m").test(
    readdirSync(new URL("src/ops", root))
      .filter((name) => name.endsWith(".def"))
      .map(
        (file) =>
          read(`src/ops/${file}`)
            .split(/^(?=OP\()/m)
            .find((row) => row.startsWith(`OP(${id},`)) ?? "",
      )
      .join(""),
  );

const text = readFileSync(page, "utf8");
assert.ok(text.includes(start) && text.includes(end), "docs/coverage.md lost its section");
const section = text.slice(text.indexOf(start) + start.length, text.indexOf(end));
const reasons = new Map(
  [...section.matchAll(/^\| `([^`]+)` \| (.+) \|$/gm)].map((row) => [row[1], row[2]]),
);
const lacks = lacking(),
  rows = expanded();
const list = (ids) =>
  ids
    .map((id) => `\`${id}\``)
    .sort()
    .join(", ");
const name = (id) => lacks.get(id) ?? id;
const always = [...rows].filter(([, when]) => when === "ALWAYS").map(([id]) => name(id));
const partly = [...rows].filter(([, when]) => when !== "ALWAYS").map(([id]) => id);
const whole = [...lacks.keys()]
  .filter((id) => !rows.has(id) && !isTakenApart(id))
  .map(name)
  .sort();

const written = `${always.length} operators that it has no kernel for are expanded: ${list(always)}.

${partly.length} more are where its kernel refuses a call or gives other numbers than PyTorch: ${list(partly)}.

${whole.length} are not. A program that has one of them gets a warning with the node and its line:

| operator | why |
|---|---|
${whole.map((id) => `| \`${id}\` | ${reasons.get(id) ?? "?"} |`).join("\n")}
`;

if (process.argv.includes("--update")) {
  const [before, after] = [
    text.slice(0, text.indexOf(start) + start.length),
    text.slice(text.indexOf(end)),
  ];
  writeFileSync(page, before + written + after);
} else {
  assert.equal(section, written, "run node tests/tools/official.check.mjs --update");
}
assert.doesNotMatch(
  written,
  /\| \? \|/,
  "docs/coverage.md does not say why an operator is not expanded",
);
