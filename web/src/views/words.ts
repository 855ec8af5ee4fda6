// What the steps are called and what each means, for someone who meets them for the first time.
import { DIALECTS } from "@sconce/border/steps.gen.js";
import { app, type StepId } from "../state.js";
import { formatBytes, formatMs } from "../ui/format.js";

const OWN = [
  {
    name: "quantized",
    title: "Quantized",
    sentence: "Numbers in a few bits each: the weights, and with some recipes all that meets them.",
  },
  {
    name: "delegated",
    title: "Delegated",
    sentence: "Parts went to backends, each as one call; the portable kernels run what is left.",
  },
  {
    name: "program",
    title: "Program",
    sentence: "The file that ExecuTorch loads on a phone, a microcontroller, or here.",
  },
  { name: "run", title: "Run", sentence: "The program, executed in this page." },
] as const;

type Words = Record<StepId, string>;
const STEP_ROWS = [...DIALECTS, ...OWN];

export const STEP_NAMES = Object.fromEntries(
  STEP_ROWS.map((row) => [row.name, row.title]),
) as Words;

export const STEP_WORDS = Object.fromEntries(
  STEP_ROWS.map((row) => [row.name, row.sentence]),
) as Words;

/** What a step shows; for the last one, what came of all steps together. */
export function stepWords(step: StepId): string {
  if (step === "run" && app.document.value?.kind === "record")
    return app.profiles.value.length > 0
      ? "What a runtime has recorded of a program that is not here."
      : "What a runtime records of the program goes here: drop the .etdp that it has written.";
  const [document, ms] = [app.document.value, app.lowerMs.value];
  if (step !== "run" || !document || ms === null) return STEP_WORDS[step];
  const count = document.files.length;
  const files = count === 1 ? "PyTorch's file" : `${count} files from PyTorch`;
  const size = formatBytes(app.programBytes.value);
  return `${files} became a program of ${size} in ${formatMs(ms)}. Here it runs, on your machine.`;
}

/** What the stages of a record are called, and in words. */
export const STAGES: Readonly<Record<string, string>> = {
  exported_program: "the model as it was exported",
  edge_dialect_exported_program: "its edge program",
};
