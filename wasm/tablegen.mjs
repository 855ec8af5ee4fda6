// Tables that C and TypeScript share, as TypeScript: core/options.def to the types of options with
// their comments, and to the rows by which the library checks, the command parses and the page asks;
// base/steps.def to the names of dialects and phases; backends/host/question.def to the numbers of what
// backends are asked. wasm/abigen.mjs writes what comes out.

// The rows of a table, each as the list of its arguments; texts without their quotes.
export function readTable(text, macro) {
  const bare = text.replace(/^\s*\/\/.*$/gm, "");
  const rows = [];
  const begin = new RegExp(`^${macro}\\(`, "gm");
  for (let found = begin.exec(bare); found; found = begin.exec(bare))
    rows.push(argumentsAt(bare, begin.lastIndex));
  return rows;
}

// The arguments from behind an opening parenthesis to the one that closes it.
function argumentsAt(text, start) {
  const list = [""];
  let depth = 0;
  for (const [token] of text.slice(start).matchAll(/"(?:[^"\\]|\\.)*"|[\s\S]/g)) {
    if (token === ")" && depth-- === 0) return list.map(unquoted);
    if (token === "(") depth++;
    if (token === "," && depth === 0) list.push("");
    else list[list.length - 1] += token;
  }
  throw new Error(`tablegen: a row is not closed: ${text.slice(start, start + 40)}`);
}

const isQuoted = (text) => text.startsWith('"');
// Strings side by side are one.
const joined = (text) =>
  text
    .match(/"(?:[^"\\]|\\.)*"/g)
    .map((one) => JSON.parse(one))
    .join("");
const unquoted = (text) => (isQuoted(text.trim()) ? joined(text) : text.trim());

// snake_case to camelCase.
const camel = (name) => name.replace(/_(\w)/g, (_, letter) => letter.toUpperCase());

// --- Options ---------------------------------------------------------------------------------------

const INTERFACES = {
  TO_EDGE: "CompileConfig",
  TO_BACKEND: "BackendConfig",
  TO_EXECUTORCH: "ExecutorchConfig",
  LOAD: "LoadConfig",
};
const SENTENCES = {
  TO_EDGE: "Options of decomposition.",
  TO_BACKEND: "Options of delegation.",
  TO_EXECUTORCH: "Options of the file that is made.",
  LOAD: "Options of loading a program.",
};
const CALLS = {
  TO_EDGE: "toEdge",
  TO_BACKEND: "toBackend",
  TO_EXECUTORCH: "toExecutorch",
  LOAD: "load",
};

// By kind: the type of a value, what is to be known of it, and its default as JavaScript has it.
const KINDS = {
  BOOL: () => ({ type: "boolean", kind: "bool", value: (text) => text === "true" }),
  COUNT: () => ({ type: "number", kind: "count", value: Number }),
  WHOLE: () => ({ type: "number", kind: "whole", value: Number }),
  POWER: (power) => ({ type: "number", kind: "power", power: Number(power), value: Number }),
  CHOICE: (words) => ({
    type: words.map((word) => `"${word}"`).join(" | "),
    kind: "choice",
    words,
    value: String,
  }),
  SIZES: (words) => ({
    type: `PlannedSizes<${words.map((word) => `"${word}"`).join(" | ")}>`,
    kind: "sizes",
    words,
    value: String,
  }),
  PLANNER: (words) => ({
    type: `MemoryPlanning<${words.map((word) => `"${word}"`).join(" | ")}>`,
    kind: "planner",
    words,
    value: String,
  }),
  FILES: () => ({ type: "ExternalConstants", kind: "files", value: () => false }),
  NAMES: () => ({ type: "readonly string[]", kind: "names", value: () => [] }),
  BOUNDS: () => ({
    type: "Readonly<Record<string, { readonly max: number }>>",
    kind: "bounds",
    value: () => ({}),
  }),
};

function readKind(text) {
  const [, name, argument = ""] = /^(\w+)(?:\((.*)\))?$/.exec(text) ?? [];
  if (!Object.hasOwn(KINDS, name ?? "")) throw new Error(`tablegen: there is no kind '${text}'`);
  return KINDS[name](isQuoted(argument) ? unquoted(argument).split(" ") : argument);
}

// Options without a sentence are nobody's to give.
function readOptions(text) {
  const rows = readTable(text, "OPTION").map((row) => {
    const [call, key, kindText, value, flag, place, label, sentence] = row;
    if (row.length !== 8 || !Object.hasOwn(CALLS, call))
      throw new Error(`tablegen: not a row of options.def: ${row.join(", ")}`);
    const { type, value: read, ...kind } = readKind(kindText);
    return {
      call,
      type,
      sentence,
      row: {
        call: CALLS[call],
        key,
        name: camel(key),
        ...kind,
        default: read(value),
        flag,
        place: place.toLowerCase(),
        label,
        sentence,
      },
    };
  });
  return rows.filter(({ sentence }) => sentence);
}

function member({ type, sentence, row }) {
  const comment = `  /** ${sentence} Default ${JSON.stringify(row.default)}. */`;
  return `${comment}\n  ${row.name}?: ${type};`;
}

// The text of options.gen.ts.
export function generateOptions(text) {
  const options = readOptions(text);
  const interfaces = Object.entries(INTERFACES).map(([call, name]) => {
    const members = options.filter((option) => option.call === call).map(member);
    return `/** ${SENTENCES[call]} */\nexport interface ${name} {\n${members.join("\n")}\n}\n`;
  });
  const rows = options.map(({ row }) => `  ${JSON.stringify(row)},`);
  return `// Generated by wasm/tablegen.mjs from src/core/options.def; not kept in git.
import type { Option, PlannedSizes } from "./option.js";
import type { MemoryPlanning } from "./planner.js";
import type { ExternalConstants } from "./weight_files.js";

${interfaces.join("\n")}
export const OPTIONS: readonly Option[] = [
${rows.join("\n")}
];
`;
}

// --- Passes ----------------------------------------------------------------------------------------

// The text of passes.gen.ts. Callers may name the passes of to_edge that leave a program whose types
// and dialect hold (sc_pass_is_offered).
export function generatePasses(text) {
  const rows = [...text.matchAll(/^PASS(?:_ENV)?\((\w+),\s*(\w+),[^,]+,[^,]+,([^,]+),/gm)];
  const passes = rows.map(([, name, step, breaks]) => ({
    name,
    isOffered: step === "to_edge" && !/SPECS|CORE|IS_EDGE/.test(breaks),
  }));
  return `// Generated by wasm/tablegen.mjs from src/passes/passes.def; not kept in git.

/** The passes of the module, and which of them callers may name. */
export const BUILT_IN_PASSES: readonly { readonly name: string; readonly isOffered: boolean }[] = [
${passes.map((row) => `  ${JSON.stringify(row)},`).join("\n")}
];
`;
}

// --- Steps -----------------------------------------------------------------------------------------

const union = (names) => names.map((name) => `"${name}"`).join(" | ");

// The text of steps.gen.ts.
export function generateSteps(text) {
  const dialects = readTable(text, "DIALECT").map(([name, title, sentence]) => ({
    name,
    title,
    sentence,
  }));
  const steps = readTable(text, "STEP").map(([name, from, to, words]) => ({
    name,
    from,
    to,
    words,
  }));
  const phases = [...steps, ...readTable(text, "PHASE").map(([name, words]) => ({ name, words }))];
  const known = new Set(dialects.map(({ name }) => name));
  for (const { name, from, to } of steps)
    if (!known.has(from) || !known.has(to)) throw new Error(`tablegen: ${name} has no dialect`);
  return `// Generated by wasm/tablegen.mjs from src/base/steps.def; not kept in git.

/** The dialect of a version of a program. */
export type Dialect = ${union([...known])};

/** Work that takes time, as progress reports it. */
export type Phase = ${union(phases.map(({ name }) => name))};

export const DIALECTS: readonly { name: Dialect; title: string; sentence: string }[] = [
${dialects.map((row) => `  ${JSON.stringify(row)},`).join("\n")}
];

/** Each phase in words. */
export const PHASES: Readonly<Record<Phase, string>> = {
${phases.map(({ name, words }) => `  ${name}: ${JSON.stringify(words)},`).join("\n")}
};
`;
}

// --- Questions to backends ---------------------------------------------------------------------------

// The text of question.gen.ts.
export function generateQuestions(text) {
  const rows = readTable(text.replace(/\/\/.*$/gm, ""), "QUESTION").map(
    ([name], number) => `  ${camel(name.toLowerCase())}: ${number},`,
  );
  return `// Generated by wasm/tablegen.mjs from src/backends/host/question.def; not kept in git.

/** Questions to a backend of the host. */
export const QUESTION = {
${rows.join("\n")}
} as const;
`;
}
