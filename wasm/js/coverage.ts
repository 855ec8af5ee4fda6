// Operators as users write them, looked up in the table of what is covered.
import type { HowItRuns, Meta } from "./types.js";

/** An operator and who runs it; a missing one runs nowhere. */
export interface CoveredOperator {
  name: string;
  lowers: boolean;
  here: HowItRuns;
  official: HowItRuns;
  /** The operator that keeps it from running somewhere; empty where it runs on both runtimes. */
  lacks: string;
}

/**
 * Every operator of PyTorch, and those of other libraries that are known, by name. What only lowering
 * itself makes has no place here.
 */
export function coveredOperators(meta: Meta): CoveredOperator[] {
  const known = meta.ops
    .filter(
      ({ name, pytorch }) => pytorch || /^(torchvision|torchao|quantized_decomposed)::/.test(name),
    )
    .map(({ name, here, official, lacks }) => {
      return { name, here, official, lacks, lowers: here !== "no" || official !== "no" };
    });
  const missing = meta.pytorch.missing.map((name): CoveredOperator => {
    return { name, lowers: false, here: "no", official: "no", lacks: name };
  });
  return [...known, ...missing].sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
}

/**
 * What to look for when somebody types `text`: "torch.ops.aten.add_.Tensor" is looked for as
 * "aten::add.Tensor", because forms that write in place are covered with what they are forms of.
 */
export function operatorPattern(text: string): string {
  return text
    .trim()
    .toLowerCase()
    .replace(/^torch\.(ops\.)?/, "")
    .replace(/^(aten|torchvision|torchao|quantized_decomposed)\./, "$1::")
    .replace(/\.default$/, "")
    .replace(/([a-z0-9])_(?=\.|$)/, "$1");
}

/** The sentence that sums it up. */
export function coverageSentence({ pytorch }: Meta): string {
  const { version, operators, lowers, here, official } = pytorch;
  const ran = here === lowers ? "all of them run here" : `${here} run here`;
  return `Of ${operators} operators that PyTorch ${version} can leave in a program, ${lowers} lower: ${ran}, ${official} on the official runtime.`;
}
