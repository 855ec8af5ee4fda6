// npm run docs: writes docs/api.md, the reference of the library, from the declarations in dist/ and
// their doc comments. With --check it changes nothing, and fails where the page is out of date.
import { readFileSync, writeFileSync } from "node:fs";
import ts from "typescript-5.9";
import { inRoot } from "./steps.mjs";

const page = inRoot("docs/api.md");
const entries = { index: inRoot("dist/index.d.ts"), llm: inRoot("dist/llm.d.ts") };
const program = ts.createProgram(Object.values(entries), { lib: ["lib.es2023.d.ts"] });
const checker = program.getTypeChecker();

// --- Doc comments --------------------------------------------------------------------------------

const plain = (text) =>
  text
    .replace(/\r/g, "")
    .split("\n")
    .map((line) => line.trimEnd())
    .join("\n")
    .trim();

/** A paragraph stays a paragraph, on one line. */
const joined = (text) => plain(text).replace(/(?<!\n)\n(?![\n-])/g, " ");

const textOf = (comment) => ts.getTextOfJSDocComment(comment) ?? "";

/** The title of an example stands on its first line, where that is no code. */
function exampleOf(tag) {
  const [, title, code] = /^(?![^\n]*[;({])([^\n]*)\n([^]*)$/.exec(textOf(tag.comment)) ?? [];
  const block = ["```js", plain(code ?? textOf(tag.comment)), "```"].join("\n");
  return title?.trim() ? `${title.trim()}:\n\n${block}` : block;
}

/** The summary, the errors and the examples of a declaration, as blocks of Markdown. */
function docOf(node) {
  const comments = ts.getJSDocCommentsAndTags(node).filter(ts.isJSDoc);
  const tags = ts.getJSDocTags(node);
  const named = (name) => tags.filter((tag) => tag.tagName.text === name);
  return [
    ...comments.map(({ comment }) => joined(textOf(comment))),
    ...named("throws").map(({ comment }) => `Throws ${joined(textOf(comment))}`),
    ...named("example").map(exampleOf),
  ].filter((block) => block !== "");
}

// --- Declarations --------------------------------------------------------------------------------

const block = (code) => ["```dts", code, "```"].join("\n");

/** The code of a declaration without comments, laid out by the compiler. */
const printer = ts.createPrinter({ removeComments: true });
const codeOf = (node) =>
  printer
    .printNode(ts.EmitHint.Unspecified, node, node.getSourceFile())
    .replace(/^export (declare )?/, "")
    .replace(/;$/, "");

/** Calls and constructors of an interface have no name. */
const isShown = (member) =>
  !(
    member.name &&
    (ts.isComputedPropertyName(member.name) || ts.isPrivateIdentifier(member.name))
  ) && !(ts.getCombinedModifierFlags(member) & ts.ModifierFlags.Private);

/** A member as an item of a list; examples and further paragraphs are indented below it. */
function memberOf(member) {
  const code = codeOf(member).replace(/\s*\n\s*/g, " ");
  const [summary = "", ...rest] = docOf(member);
  const [first, ...paragraphs] = summary.split("\n\n");
  const more = [...paragraphs, ...rest].map((text) => `\n\n${text.replace(/^(?=.)/gm, "  ")}`);
  return `- \`${code}\`${first ? `\\\n  ${first}` : ""}${more.join("")}`;
}

/** Interfaces and classes have a list of members; everything else is shown as it is declared. */
function entryOf(name, declarations) {
  const [node] = declarations;
  const parts = [`### ${name}`];
  if (ts.isInterfaceDeclaration(node) || ts.isClassDeclaration(node)) {
    const heritage = (node.heritageClauses ?? []).map((clause) => clause.getText()).join(" ");
    const params = node.typeParameters ? `<${node.typeParameters.map(codeOf).join(", ")}>` : "";
    const word = ts.isClassDeclaration(node) ? "class" : "interface";
    if (heritage || params) parts.push(block(`${word} ${name}${params} ${heritage}`.trim()));
    parts.push(...docOf(node));
    const members = node.members.filter(isShown).map(memberOf);
    if (members.length) parts.push(members.join("\n"));
  } else {
    const word = ts.isVariableDeclaration(node) ? "const " : "";
    parts.push(...declarations.map((one) => block(word + codeOf(one))));
    const documented = ts.isVariableDeclaration(node) ? node.parent.parent : node;
    parts.push(...docOf(documented));
  }
  return parts.join("\n\n");
}

// --- The page ------------------------------------------------------------------------------------

const isValue = (node) =>
  ts.isFunctionDeclaration(node) || ts.isVariableDeclaration(node) || ts.isClassDeclaration(node);

/** The names that an entry of the package exports, with their declarations. */
function exportsOf(entry) {
  const module = checker.getSymbolAtLocation(program.getSourceFile(entry));
  return checker.getExportsOfModule(module).map((symbol) => {
    const meant = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
    return { name: symbol.name, declarations: (meant.declarations ?? []).map(behindAlias) };
  });
}

/** The interface that a type only gives its own name to, as `type ExportRecipe = Recipe` does. */
function behindAlias(node) {
  if (!ts.isTypeAliasDeclaration(node) || !ts.isTypeReferenceNode(node.type)) return node;
  const { symbol } = checker.getTypeFromTypeNode(node.type);
  const [target] = symbol?.declarations ?? [];
  return target && ts.isInterfaceDeclaration(target) && target.name.text === node.name.text
    ? target
    : node;
}

/** The entries of the declarations that are asked for; a value and a type may share a name. */
function section(entry, isWanted) {
  const rows = exportsOf(entry)
    .map(({ name, declarations }) => [name, declarations.filter(isWanted)])
    .filter(([, declarations]) => declarations.length > 0);
  const order = ([a], [b]) => (a.toLowerCase() < b.toLowerCase() ? -1 : 1);
  return rows
    .sort(order)
    .map((row) => entryOf(...row))
    .join("\n\n");
}

const written = `# API reference

This page is made from the declarations of the library by \`npm run docs\`.
[The library](javascript.md) is the place to begin: it shows each function in use.

## Functions and values

${section(entries.index, isValue)}

## Types

${section(entries.index, (node) => !isValue(node))}

## Language models

[Language models](language-models.md) shows them in use. All of these are exported by \`sconce/llm\`.

${section(entries.llm, () => true)}
`;

const before = readFileSync(page, { encoding: "utf8", flag: "a+" });
if (!process.argv.includes("--check")) writeFileSync(page, written);
else if (written !== before) {
  console.error("docs/api.md is out of date: npm run docs");
  process.exitCode = 1;
}
