// The ways to look at a version of the program, one row each: the steps it is for, what it is called
// and its key. A step begins with the first of its own.
import type { StepId } from "./state.js";

interface Row {
  title: string;
  key: string;
  isFor: (step: StepId) => boolean;
}

export const VIEWS = {
  summary: { title: "Summary", key: "s", isFor: (step) => !/^(delegated|executorch)$/.test(step) },
  delegates: { title: "Delegates", key: "d", isFor: (step) => step === "delegated" },
  memory: { title: "Memory", key: "m", isFor: (step) => step === "executorch" },
  graph: { title: "Graph", key: "g", isFor: () => true },
  table: { title: "Table", key: "t", isFor: () => true },
  text: { title: "Text", key: "x", isFor: () => true },
} as const satisfies Record<string, Row>;

export type View = keyof typeof VIEWS;

export const VIEW_NAMES = Object.keys(VIEWS) as View[];

export const viewsFor = (step: StepId): View[] =>
  VIEW_NAMES.filter((name) => VIEWS[name].isFor(step));
