// Operators as users write them, looked up in the table of what is covered.
import type { HowItRuns, Meta } from "./types.js";

/** Whose operators are known, beside PyTorch's own. */
const LIBRARIES = "torchvision|torchao|transformers|quantized_decomposed";
const OF_LIBRARY = new RegExp(`^(${LIBRARIES})::`);
const WRITTEN_IN_PYTHON = new RegExp(`^(aten|${LIBRARIES})\\.`);

/** An operator and who runs it; a missing one runs nowhere. */
export interface CoveredOperator {
  name: string;
  lowers: boolean;
  here: HowItRuns;
  official: HowItRuns;
  /** The operator that keeps it from running somewhere; empty where it runs on both runtimes. */
  lacks: string;
  /** Which calls the official runtime runs; empty if it is all, or none. */
  limit: string;
}

/**
 * Every operator of PyTorch, and those of other libraries that are known, by name. What only lowering
 * itself makes has no place here.
 */
export function coveredOperators(meta: Meta): CoveredOperator[] {
  const known = meta.ops
    .filter(({ name, pytorch }) => pytorch || OF_LIBRARY.test(name))
    .map(({ name, here, official, lacks, limit }) => {
      return { name, here, official, lacks, limit, lowers: here !== "no" || official !== "no" };
    });
  const missing = meta.pytorch.missing.map((name): CoveredOperator => {
    return { name, lowers: false, here: "no", official: "no", lacks: name, limit: "" };
  });
  return [...known, ...missing].sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
}

/**
 * What to look for when somebody types `text`, as it is written in Python: "torch.ops.aten.add_.Tensor"
 * is looked for as "aten::add.tensor", because forms that write in place are covered with what they
 * are forms of; "F.gelu" and "x.gelu" as "gelu", "torch.fft.fft" as "fft_fft".
 */
export function operatorPattern(text: string): string {
  return text
    .trim()
    .toLowerCase()
    .replace(/\(.*$/, "")
    .replace(/^torch\.(?=.)(ops\.)?/, "")
    .replace(/^(nn(\.functional)?|tensor|f|x|self)\.(?=.)/, "")
    .replace(/^(fft|linalg|special)\.(?=.)/, "$1_")
    .replace(/^torchvision\.ops\./, "torchvision.")
    .replace(WRITTEN_IN_PYTHON, "$1::")
    .replace(/\.default$/, "")
    .replace(/([a-z0-9])_(?=\.|$)/, "$1");
}

/** What is to be known of an operator beside who runs it: what it lacks, or which calls run. */
export function coverageNote({ name, lacks, limit }: CoveredOperator): string {
  if (lacks !== "") return lacks === name ? "" : `needs ${lacks}`;
  return limit === "" ? "" : `only ${limit}`;
}

/** How many are listed: PyTorch's own, which `coverageSentence` counts, and those of libraries. */
export function listedCount(rows: readonly CoveredOperator[]): string {
  const more = rows.filter(({ name }) => OF_LIBRARY.test(name)).length;
  const own = rows.length - more;
  return `${own} operator${own === 1 ? "" : "s"} of PyTorch${more ? `, ${more} of libraries` : ""}`;
}

/** The sentence that sums it up. */
export function coverageSentence({ pytorch }: Meta): string {
  const { version, operators, lowers, here, official, limited } = pytorch;
  const ran = here === lowers ? "all of them run here" : `${here} run here`;
  return (
    `Of ${operators} operators that PyTorch ${version} can leave in a program, ${lowers} lower: ${ran}, ` +
    `${official} on the official runtime, ${limited} of those within a limit, mostly of size.`
  );
}
