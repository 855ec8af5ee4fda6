// Names and meanings of the steps, for someone who meets them for the first time.
import type { StepId } from "./looks.js";
import { DIALECTS } from "@sconce/border/steps.gen.js";
import { app } from "./state.js";
import { formatBytes, formatMs } from "./ui/format.js";

const OWN = [
  {
    name: "quantized",
    title: "Quantized",
    sentence: "Weights, and with some recipes activations too, stored in 8 or 4 bits.",
  },
  {
    name: "delegated",
    title: "Delegated",
    sentence: "Which nodes a backend runs, and why the rest stay on the portable kernels.",
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

/** The words of a step; for the last one, the outcome of all steps together. */
export function stepWords(step: StepId): string {
  if (step === "run" && app.document.value?.kind === "record")
    return app.profiles.value.length > 0
      ? "A profile without its program. Drop the .pte or .etrecord to see names."
      : "No profile yet. Drop an .etdp file from your device.";
  const [document, ms] = [app.document.value, app.lowerMs.value];
  if (step !== "run" || !document || ms === null) return STEP_WORDS[step];
  const count = document.files.length;
  const from = count === 1 ? "" : ` ${count} files`;
  const size = formatBytes(app.programBytes.value);
  return `Lowered${from} to a ${size} program in ${formatMs(ms)}. It runs here, on your machine.`;
}

/** Names of the stages of a record, in words. */
export const STAGES: Readonly<Record<string, string>> = {
  exported_program: "the model as it was exported",
  edge_dialect_exported_program: "its edge program",
};
