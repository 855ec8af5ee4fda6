// The ways to look at a version of the program, one row each: the steps it is for, what it is called
// and its key. A step begins with the first of its own.
import type { Dialect } from "@sconce/border/steps.gen.js";

/** A version of the program in its dialect, the file that was written, and running it. */
export type StepId = Dialect | "quantized" | "delegated" | "program" | "run";

interface Row {
  title: string;
  key: string;
  isFor: (step: StepId) => boolean;
}

/** Steps that show versions of the program. */
const isVersion = (step: StepId): boolean => step !== "program" && step !== "run";

export const VIEWS = {
  file: { title: "File", key: "f", isFor: (step) => step === "program" },
  planned: { title: "Memory", key: "m", isFor: (step) => step === "program" },
  talk: { title: "Talk", key: "l", isFor: (step) => step === "run" },
  speech: { title: "Speech", key: "e", isFor: (step) => step === "run" },
  call: { title: "Call", key: "c", isFor: (step) => step === "run" },
  cases: { title: "Cases", key: "k", isFor: (step) => step === "run" },
  record: { title: "Record", key: "r", isFor: (step) => step === "run" },
  profile: { title: "Profile", key: "p", isFor: (step) => step === "run" },
  numerics: { title: "Numerics", key: "n", isFor: (step) => step === "run" },
  summary: { title: "Summary", key: "s", isFor: (step) => /^(source|core|edge)$/.test(step) },
  quantized: { title: "Quantized", key: "q", isFor: (step) => step === "quantized" },
  delegates: { title: "Delegates", key: "d", isFor: (step) => step === "delegated" },
  memory: { title: "Memory", key: "m", isFor: (step) => step === "executorch" },
  graph: { title: "Graph", key: "g", isFor: isVersion },
  table: { title: "Table", key: "t", isFor: isVersion },
  text: { title: "Text", key: "x", isFor: isVersion },
  changes: {
    title: "Changes",
    key: "h",
    isFor: (step) => isVersion(step) && step !== "source",
  },
} as const satisfies Record<string, Row>;

export type View = keyof typeof VIEWS;

const VIEW_NAMES = Object.keys(VIEWS) as View[];

export const viewsFor = (step: StepId): View[] =>
  VIEW_NAMES.filter((name) => VIEWS[name].isFor(step));
