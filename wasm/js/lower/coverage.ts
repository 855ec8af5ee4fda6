// Looks operators up in the table of coverage, by the names that users write.
import type { HowItRuns, Meta } from "../types/index.js";

/** An operator and the runtimes that run it. A missing operator runs on no runtime. */
export interface CoveredOperator {
  /** Its name in programs: "aten::add.Tensor". */
  name: string;
  /** The library that has it. Empty for PyTorch's own. */
  library: string;
  /** True if one of the two runtimes runs it. */
  lowers: boolean;
  /** How this runtime runs it. */
  here: HowItRuns;
  /** How the official runtime runs it. */
  official: HowItRuns;
  /** The operator that keeps it from running on some runtime. Empty if it runs on both. */
  lacks: string;
  /** The limits on its calls on the official runtime. Empty if it runs all calls, or no call. */
  limits: readonly string[];
}

/**
 * Lists every operator of PyTorch, and the known ones of other libraries, by name. Operators that
 * only lowering makes are left out.
 */
export function coveredOperators(meta: Meta): CoveredOperator[] {
  const known = meta.ops
    .filter(({ pytorch, library }) => pytorch || library !== "")
    .map(({ name, library, lowers, here, official, lacks, limits }) => {
      return { name, library, lowers, here, official, lacks, limits };
    });
  const missing = meta.pytorch.missing.map((name): CoveredOperator => {
    const nowhere = { lowers: false, here: "no", official: "no" } as const;
    return { name, library: "", ...nowhere, lacks: name, limits: [] };
  });
  return [...known, ...missing].sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
}

/**
 * Makes the name to search for of a text as in Python. "torch.ops.aten.add_.Tensor" becomes
 * "aten::add.tensor", because the table lists an in-place operator under its plain form. "F.gelu"
 * and "x.gelu" become "gelu". "torch.fft.fft" becomes "fft_fft".
 */
export function operatorPattern(text: string, { ops }: Meta): string {
  const libraries = new Set(ops.map(({ library }) => library).filter(Boolean));
  const writtenInPython = new RegExp(`^(aten|${[...libraries].join("|")})\\.`);
  return text
    .trim()
    .toLowerCase()
    .replace(/\(.*$/, "")
    .replace(/^torch\.(?=.)(ops\.)?/, "")
    .replace(/^(nn(\.functional)?|func|tensor|f|x|self)\.(?=.)/, "")
    .replace(/^(fft|linalg|special)\.(?=.)/, "$1_")
    .replace(/^torchvision\.ops\./, "torchvision.")
    .replace(writtenInPython, "$1::")
    .replace(/\.default$/, "")
    .replace(/([a-z0-9])_(?=\.|$)/, "$1");
}

/** Says in a word how a runtime runs it: "limited" if it runs only some calls. */
export function coverageWord(row: CoveredOperator, id: "here" | "official"): string {
  if (row[id] === "no") return "no";
  return id === "official" && row.limits.length > 0 ? "limited" : "yes";
}

/**
 * A note about an operator: the operator that it needs and that has no kernel, or the limits on its
 * calls.
 */
export function coverageNote({ name, lacks, limits }: CoveredOperator): string {
  if (lacks !== "") return lacks === name ? "" : `needs ${lacks}`;
  return limits.length === 0 ? "" : `only ${limits.join("; ")}`;
}

/**
 * The numbers of listed operators: PyTorch's own, which `coverageSentence` counts, and those of
 * libraries.
 */
export function listedCount(rows: readonly CoveredOperator[]): string {
  const more = rows.filter(({ library }) => library !== "").length;
  const own = rows.length - more;
  return `${own} operator${own === 1 ? "" : "s"} of PyTorch${more ? `, ${more} of libraries` : ""}`;
}

/** A sentence with the numbers of operators that lower and run. */
export function coverageSentence({ pytorch }: Meta): string {
  const { version, operators, lowers, here, official, limited } = pytorch;
  const ran = here === lowers ? "all of them run here" : `${here} run here`;
  return (
    `Of ${operators} operators that PyTorch ${version} can leave in a program, ${lowers} lower: ${ran}, ` +
    `${official} on the official runtime, ${limited} of those within a limit.`
  );
}

const runs = "lowers, and runs where the operators in it do";

/**
 * A sentence about a feature that is not an operator: vmap, jvp, float8 and its types. Empty for
 * any other pattern.
 */
export function featureSentence(pattern: string, { features, dtypes }: Meta): string {
  const { vmap, vmapSamples, jvp, float8 } = features;
  const types = dtypes.map(({ name }) => name).filter((name) => name.startsWith("float8"));
  if (pattern === "vmap")
    return (
      `torch.vmap ${runs}: ${vmap} operators take a batch at once, most others are called for ` +
      `each sample, up to ${vmapSamples} of them; operators that decompose go by what they become.`
    );
  if (pattern === "jvp")
    return (
      `torch.func.jvp ${runs}, on real numbers, through ${jvp} operators and what becomes those; ` +
      "others are refused."
    );
  if (pattern === "float8" || types.some((name) => name === pattern))
    return (
      `Numbers in ${types.join(", ")} run here through ${float8} operators and what becomes those: ` +
      "they are made, moved and converted, and no operator computes with them."
    );
  return "";
}
