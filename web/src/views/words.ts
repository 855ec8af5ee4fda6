// What the steps are called and what each means, for someone who meets them for the first time.
import { app, type StepId, type View } from "../state.js";
import { formatBytes, formatMs } from "../ui/format.js";

export const STEP_NAMES: Record<StepId, string> = {
  source: "Source",
  core: "Core ATen",
  edge: "Edge",
  planned: "Planned",
  program: "Program",
  run: "Run",
};

export const STEP_WORDS: Record<StepId, string> = {
  source: "What PyTorch exported: the operators as the author of the model called them.",
  core: "The same model in PyTorch's small core set of operators: a runtime has few to know.",
  edge: "Rewritten for devices: one data type and one memory layout decided for every value.",
  planned: "Every value has its place in one block of memory, reused once it is no longer needed.",
  program: "The file that ExecuTorch loads on a phone, a microcontroller, or here.",
  run: "The program, executed in this page.",
};

/** What a step shows; for the last one, what came of all steps together. */
export function stepWords(step: StepId): string {
  const [document, ms] = [app.document.value, app.lowerMs.value];
  if (step !== "run" || !document || ms === null) return STEP_WORDS[step];
  const count = document.files.length;
  const files = count === 1 ? "PyTorch's file" : `${count} files from PyTorch`;
  const size = formatBytes(app.programBytes.value);
  return `${files} became a program of ${size} in ${formatMs(ms)}. Here it runs, on your machine.`;
}

export const VIEW_NAMES: Record<View, string> = {
  summary: "Summary",
  table: "Table",
  text: "Text",
  memory: "Memory",
};

export const VIEW_KEYS: Record<View, string> = { summary: "s", table: "t", text: "x", memory: "m" };
