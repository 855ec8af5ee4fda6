// All that the rules about layers ask of the text of one file. Facts are found once for each text, so
// that a check of a hundred mistakes reads again what a mistake changed, and nothing else.
import { codeOf as stripped } from "./tree.mjs";

const directive = /^[ \t]*(?:#|%:)\s*(include\w*|import|define\s+TEMPLATE)\b(.*)/gm;
const definition =
  /^(?!static|typedef|extern)[a-z][\w *]*?\b(sc_\w+)(?:\([^;{]*\)\s*(\{)|[\w[\]]*\s*=)/gm;
const made = { SC_KERNEL: "sc_k_", SC_ALGORITHM: "sc_algorithm_" };
const making = new RegExp(`^(${Object.keys(made).join("|")})\\((\\w+)`, "gm");
const external =
  /^(?!static\b|typedef\b|extern\b|return\b|else\b)[a-z][\w *]*?\b(\w+)(?:\([^;{]*\)\s*\{|(?:\[\w*\])*\s*(?:=[^=]|;))/gm;

// A function that computes its result for an argument once.
function once(compute) {
  const known = new Map();
  return (key) => {
    if (!known.has(key)) known.set(key, compute(key));
    return known.get(key);
  };
}

// Facts about a file of src/ or wasm/; what few files are asked for waits until then.
export const factsOf = once((text) => {
  const code = stripped(text); // line for line
  const lineOf = (index) => code.slice(0, index).split("\n").length;
  const definitions = [...code.matchAll(definition)];
  const counts = new Map();
  return {
    // The folder that a header keeps to itself, by its own first words.
    scope: /\bPrivate to (\w[\w/]*\w)/.exec(text)?.[1],
    directives: [...code.matchAll(directive)].map(({ 1: verb, 2: rest, index }) => {
      return { verb, rest, line: lineOf(index) };
    }),
    words: new Set(code.match(/\bsc_\w+/g)),
    lineOfWord: (word) => lineOf(code.search(new RegExp(`\\b${word}\\b`))),
    functions: definitions.filter(([, , body]) => body).map(([, word]) => word),
    objects: [
      ...definitions.filter(([, , body]) => !body).map(([, word]) => word),
      ...[...code.matchAll(making)].map(([, macro, word]) => made[macro] + word),
    ],
    // Names that a linker sees and that lack the prefix of this project.
    foreign: [...code.matchAll(external)]
      .filter(([, word]) => !word.startsWith("sc_"))
      .map(({ 1: word, index }) => ({ word, line: lineOf(index) })),
    // How often the file says what a rule rations; the key tells rules apart.
    timesOf({ pattern, except }, key) {
      if (!counts.has(key)) {
        const sought = typeof pattern === "function" ? pattern(code) : pattern;
        const rest = except ? code.replace(except, ";") : code;
        counts.set(key, [...rest.matchAll(sought)].length);
      }
      return counts.get(key);
    },
  };
});

// The headers of ours that the text of a test includes.
export const includedBy = once((text) =>
  [...text.matchAll(/^\s*#\s*include\s*"([^"]+)"/gm)].map(([, include]) => include),
);
