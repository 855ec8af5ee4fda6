// sconce operators: which operators are covered, by the engine's own table.
import {
  coverageNote,
  coverageSentence,
  coverageWord,
  coveredOperators,
  featureSentence,
  operatorPattern,
  type CoveredOperator,
} from "../lower/coverage.js";
import { defineCommand, type ValuesOf } from "./shell/command.js";
import { makeEngine } from "./engine.js";
import { EXIT, UsageError } from "./usage.js";
import { printJson } from "./print/json.js";
import { isJson, say } from "./print/terminal.js";
import { sayTable } from "./print/table.js";

const FLAGS = {
  all: { type: "boolean", text: "list all operators; with --json that is the default" },
  lacking: { type: "boolean", text: "list only those that do not run on both runtimes" },
  limited: {
    type: "boolean",
    text: "list only those that the official runtime runs in some cases, but not in all",
  },
} as const;

// A line for each limit but the first, so that none is cut short.
const linesOf = (row: CoveredOperator): string[][] => [
  [
    row.name,
    row.lowers ? "yes" : "no",
    coverageWord(row, "here"),
    coverageWord(row, "official"),
    coverageNote({ ...row, limits: row.limits.slice(0, 1) }),
  ],
  ...row.limits.slice(1).map((limit) => ["", "", "", "", `and ${limit}`]),
];

const sayOperators = (rows: readonly CoveredOperator[]): void =>
  sayTable(["operator", "lowers", "here", "official", "note"], rows.flatMap(linesOf));

// The answer when no name with the pattern is left to list.
function sayNoMatch(
  pattern: string,
  named: number,
  { lacking, limited }: { lacking?: boolean; limited?: boolean },
): string {
  if (named === 0) return `No operator has '${pattern}' in its name.`;
  const kind = [lacking && "is lacking on a runtime", limited && "has a limit"].filter(Boolean);
  const all = pattern === "" ? "operators" : `operators with '${pattern}' in their names`;
  return `Of ${named} ${all}, none ${kind.join(" and ")}.`;
}

async function operators(values: ValuesOf<typeof FLAGS>, positionals: string[]): Promise<number> {
  if (positionals.length > 1) throw new UsageError("pass one operator, or a part of its name");
  const [name] = positionals;
  const engine = await makeEngine();
  const meta = engine.meta();
  engine.dispose();
  const pattern = operatorPattern(name ?? "", meta);
  const isShown = name !== undefined || values.all || values.lacking || values.limited;
  const named = coveredOperators(meta).filter((row) => row.name.toLowerCase().includes(pattern));
  const rows = named.filter(
    (row) => (!values.lacking || row.lacks !== "") && (!values.limited || row.limits.length > 0),
  );
  const feature = featureSentence(pattern, meta);
  const status = named.length > 0 || feature !== "" ? EXIT.done : EXIT.failed;
  if (isJson()) {
    const { missing: _, ...pytorch } = meta.pytorch;
    printJson({ kind: "operators", pytorch, features: meta.features, operators: rows });
    return status;
  }
  if (isShown && rows.length > 0) sayOperators(rows);
  if (feature !== "") say(feature);
  if (isShown && rows.length === 0 && feature === "")
    say(sayNoMatch(name === undefined ? "" : pattern, named.length, values));
  say(coverageSentence(meta));
  return status;
}

/** The command sconce operators. */
export const OPERATORS = defineCommand({
  name: "operators",
  summary:
    "lists PyTorch's operators: which lower, which run here, which run on the official runtime",
  examples: [
    "sconce operators                how many",
    "sconce operators linalg         those whose names have this in them",
    "sconce operators aten::add_.Tensor",
    "sconce operators vmap           what of vmap, jvp or float8 is covered",
    "sconce operators --all --json",
  ],
  files: "NAME",
  flags: FLAGS,
  run: operators,
});
