// Everything the page knows, as one tree of signals. Views read it, actions write it; nothing else
// holds state. Handles into the worker are not here: they belong to the actions.
import { computed, signal } from "@preact/signals";
import type {
  CompilationReport,
  ErrorCode,
  MethodPlan,
  MethodSummary,
  NodeRow,
  ProgramMethodInfo,
  ProgramReport,
  StageSummary,
  Tensor,
} from "@sconce/types.js";
import type { Face } from "../../examples/faces.mjs";

export type StepId = "source" | "core" | "edge" | "planned" | "program" | "run";
/** "absent": this kind of file has no such step. */
export type StepStatus = "idle" | "running" | "done" | "failed" | "absent";

export interface Step {
  status: StepStatus;
  ms?: number;
  bytes?: number;
}

export const STEPS: readonly StepId[] = ["source", "core", "edge", "planned", "program", "run"];

export type View = "summary" | "table" | "text" | "memory";

export interface MethodFile {
  method: string;
  fileName: string;
  file: Blob;
}

/** What the user can set about lowering. */
export interface Settings {
  shareState: boolean;
  externalConstants: boolean;
  memoryPlanning: "best" | "greedy" | "naive";
  /** One "name = value" a line. */
  constants: string;
}

export type SampleId = "story" | "face" | "mlp";

export interface Document {
  title: string;
  kind: "pt2" | "pte";
  files: readonly MethodFile[];
  sample?: SampleId;
  settings: Settings;
  /** Settings or names were edited since the last lowering. */
  isEdited: boolean;
}

/** Work under way; `total` is 0 when unknown. */
export interface Busy {
  what: string;
  phase: string;
  done: number;
  total: number;
}

export interface Problem {
  severity: "note" | "warning" | "error";
  code: ErrorCode;
  message: string;
  hint: string;
  step: StepId | null;
  method: string;
  node: string;
  op: string;
  /** The user's own line, "model.py:12 in forward" and the code there. */
  place: string;
  line: string;
  /** The whole diagnostic, for the clipboard. */
  details: string;
}

export type Filler = "random" | "zeros" | "ones" | "numbers" | "file" | "value";

export interface InputForm {
  filler: Filler;
  seed: number;
  /** Sizes of a dynamic tensor, numbers of a small one, or the value of a scalar. */
  shape: string;
  text: string;
  tensor: Tensor | null;
  fileName: string;
  error: string;
}

export interface OutputView {
  kind: string;
  /** Scalars, as text. */
  text: string;
  tensor: Tensor | null;
  min: number;
  max: number;
  mean: number;
  nanCount: number;
  count: number;
  first: readonly number[];
  top: readonly { index: number; value: number }[];
}

export interface RunState {
  inputs: readonly InputForm[];
  outputs: readonly OutputView[];
  /** Milliseconds of each run, the last one at the end. */
  times: readonly number[];
  repeat: number;
}

export interface Story {
  /** How the story begins; the model goes on from there. */
  prompt: string;
  status: "idle" | "running" | "done";
  text: string;
  tokens: readonly number[];
  ms: number;
}

export interface Faces {
  status: "idle" | "running";
  source: "photo" | "picture" | "camera";
  url: string;
  width: number;
  height: number;
  found: readonly Face[];
  ms: number;
  frames: number;
}

export interface LogLine {
  at: number;
  text: string;
}

const idleSteps = (): Record<StepId, Step> =>
  Object.fromEntries(STEPS.map((id) => [id, { status: "idle" }])) as Record<StepId, Step>;

export const app = {
  theme: signal<"auto" | "light" | "dark">("auto"),
  /** What the theme comes to, given the system's. */
  isDark: signal(false),
  engine: signal<{ status: "starting" | "ready" | "failed"; version: string }>({
    status: "starting",
    version: "",
  }),
  /** Short names of dtypes ("f32"), from the engine. */
  dtypes: signal<ReadonlyMap<string, string>>(new Map()),

  document: signal<Document | null>(null),
  steps: signal(idleSteps()),
  report: signal<CompilationReport | null>(null),
  program: signal<ProgramReport | null>(null),
  programBytes: signal(0),
  /** Wall time of lowering as the engine reports it; null until it is done. */
  lowerMs: signal<number | null>(null),

  step: signal<StepId>("source"),
  method: signal(""),
  views: signal<Readonly<Partial<Record<StepId, View>>>>({}),
  node: signal(""),
  search: signal(""),
  sort: signal<{ column: string; descending: boolean }>({ column: "", descending: false }),
  /** Rows and lines by "program/method", fetched when a view needs them. */
  rows: signal<ReadonlyMap<string, readonly NodeRow[]>>(new Map()),
  lines: signal<ReadonlyMap<string, readonly string[]>>(new Map()),

  /** False once the worker that knows the stages was ended: what was not fetched cannot be shown. */
  canLook: signal(true),

  busy: signal<Busy | null>(null),
  problems: signal<readonly Problem[]>([]),
  log: signal<readonly LogLine[]>([]),
  dock: signal<"closed" | "problems" | "log">("closed"),
  helpOpen: signal(false),
  dragging: signal(false),

  runs: signal<Readonly<Record<string, RunState>>>({}),
  story: signal<Story>({ prompt: "", status: "idle", text: "", tokens: [], ms: 0 }),
  faces: signal<Faces>({
    status: "idle",
    source: "photo",
    url: "",
    width: 4,
    height: 3,
    found: [],
    ms: 0,
    frames: 0,
  }),
};

/** Puts everything about a document back to nothing. */
export function clearDocument(): void {
  app.steps.value = idleSteps();
  app.report.value = null;
  app.program.value = null;
  app.programBytes.value = 0;
  app.lowerMs.value = null;
  app.views.value = {};
  app.node.value = "";
  app.search.value = "";
  app.sort.value = { column: "", descending: false };
  app.rows.value = new Map();
  app.lines.value = new Map();
  app.problems.value = [];
  app.dock.value = "closed";
  app.runs.value = {};
  app.story.value = { prompt: "", status: "idle", text: "", tokens: [], ms: 0 };
}

export function setStep(id: StepId, step: Partial<Step>): void {
  app.steps.value = { ...app.steps.value, [id]: { ...app.steps.value[id], ...step } };
}

// --- What follows from the above ----------------------------------------------------------------

const STAGE_OF: Partial<Record<StepId, StageSummary["stage"]>> = {
  source: "source",
  core: "core",
  edge: "edge",
  planned: "executorch",
};

export function stageOf(report: CompilationReport | null, step: StepId): StageSummary | undefined {
  return report?.stages.findLast((stage) => stage.stage === STAGE_OF[step]);
}

export const stage = computed(() => stageOf(app.report.value, app.step.value));

export const methodSummary = computed((): MethodSummary | undefined =>
  stage.value?.methods.find((method) => method.name === app.method.value),
);

export const programMethod = computed((): ProgramMethodInfo | undefined =>
  app.program.value?.methods.find((method) => method.name === app.method.value),
);

export const plan = computed((): MethodPlan | undefined =>
  app.report.value?.plans.find((item) => item.method === app.method.value),
);

export const view = computed(
  (): View =>
    app.views.value[app.step.value] ?? (app.step.value === "planned" ? "memory" : "summary"),
);

export const viewsOfStep = computed((): readonly View[] => {
  if (!stage.value) return [];
  return app.step.value === "planned" ? ["memory", "table", "text"] : ["summary", "table", "text"];
});

/** Key of the rows and lines that the current stage shows. */
export const listKey = computed(() =>
  stage.value && methodSummary.value ? `${stage.value.program}/${app.method.value}` : "",
);

export const rows = computed(() => app.rows.value.get(listKey.value));
export const lines = computed(() => app.lines.value.get(listKey.value));

/** Methods in the order they were given; constant methods only appear once the program exists. */
export const methodNames = computed((): readonly string[] => {
  const opened = app.report.value?.stages[0]?.methods.map((m) => m.name) ?? [];
  const made = app.program.value?.methods.map((m) => m.name) ?? [];
  return [...new Set([...opened, ...made])];
});

/** Nodes of the selected method at a step, as far as it has come. */
export function nodesAt(step: StepId): number | undefined {
  return stageOf(app.report.value, step)?.methods.find((m) => m.name === app.method.value)?.nodes;
}
