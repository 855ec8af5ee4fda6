// sconce operators: which operators are covered, by the engine's own table.
import {
  coverageNote,
  coverageSentence,
  coverageWord,
  coveredOperators,
  featureSentence,
  operatorPattern,
  type CoveredOperator,
} from "../coverage.js";
import { EXIT, makeEngine, parse, say, UsageError } from "./common.js";
import { sayTable } from "./table.js";

export const OPERATORS_HELP = `sconce operators: which of PyTorch's operators lower, run here, and run on the official runtime

  sconce operators                how many
  sconce operators linalg         those whose names have this in them
  sconce operators aten::add_.Tensor
  sconce operators vmap           what of vmap, jvp or float8 is covered
  sconce operators --all --json

  --all             all of them
  --lacking         only those that do not run on both runtimes
  --limited         only those of which the official runtime runs some calls
  --json            numbers and list as JSON; without a name or a filter, the list of all
`;

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

// What is said when nothing is left to list, of those that have the pattern in their names.
function sayNone(
  pattern: string,
  named: number,
  { lacking, limited }: { lacking?: boolean; limited?: boolean },
): string {
  if (named === 0) return `No operator has '${pattern}' in its name.`;
  const kind = [lacking && "is lacking on a runtime", limited && "has a limit"].filter(Boolean);
  const all = pattern === "" ? "operators" : `operators with '${pattern}' in their names`;
  return `Of ${named} ${all}, none ${kind.join(" and ")}.`;
}

export async function operatorsCommand(args: string[]): Promise<number> {
  const { values, positionals } = parse({
    args,
    allowPositionals: true,
    options: {
      all: { type: "boolean" },
      lacking: { type: "boolean" },
      limited: { type: "boolean" },
      json: { type: "boolean" },
      help: { type: "boolean", short: "h" },
    },
  });
  if (values.help) {
    process.stdout.write(OPERATORS_HELP);
    return EXIT.done;
  }
  if (positionals.length > 1) throw new UsageError("one name, or a part of one, is looked for");
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
  if (values.json) {
    const { missing: _, ...numbers } = meta.pytorch;
    const report = { pytorch: numbers, features: meta.features, operators: rows };
    process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
    return status;
  }
  if (isShown && rows.length > 0) sayOperators(rows);
  if (feature !== "") say(feature);
  if (isShown && rows.length === 0 && feature === "")
    say(sayNone(name === undefined ? "" : pattern, named.length, values));
  say(coverageSentence(meta));
  return status;
}
