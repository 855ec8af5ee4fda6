// Everything the page knows, as one tree of signals. Views read it, actions write it; no other file
// holds state. Derived values are in derived.ts. Handles into the worker are not here: they belong
// to the actions.
import { signal } from "@preact/signals";
import type { Chosen } from "@sconce/call/options.js";
import { DIALECTS, type Dialect } from "@sconce/border/steps.gen.js";
import type { MessagePart } from "@sconce/llm/types.js";
import type {
  CaseVerdict,
  CompilationReport,
  Delegation,
  DelegationTotals,
  DumpComparison,
  ErrorCode,
  EventBlock,
  GapReport,
  InspectorReport,
  InspectorTotal,
  MemoryPlan,
  Meta,
  NodeRow,
  OpFamily,
  ProgramReport,
  QuantizationReport,
  RecordStage,
  Tensor,
  Timeline,
  UnreadEntry,
  Value,
  Verification,
} from "@sconce/types/index.js";
import type { Face } from "../../examples/faces.mjs";
import type { Scene } from "./graph/model.js";
import type { StepId, View } from "./looks.js";
import { NO_SPEECH } from "./speech.js";

/** "absent": this kind of file, or this way to lower it, has no such step. */
type StepStatus = "idle" | "running" | "done" | "failed" | "absent";

export interface Step {
  status: StepStatus;
  ms?: number;
  bytes?: number;
  /** The subject of the time. */
  note?: string;
}

/** Steps that make another version in the same dialect. */
const AFTER: Partial<Record<Dialect, readonly StepId[]>> = {
  source: ["quantized"],
  edge: ["delegated"],
};

export const STEPS: readonly StepId[] = [
  ...DIALECTS.flatMap(({ name }): StepId[] => [name, ...(AFTER[name] ?? [])]),
  "program",
  "run",
];

export interface MethodFile {
  method: string;
  fileName: string;
  file: Blob;
}

/** Inputs that a quantized program is calibrated on, or compared with the float one. */
export interface Calibration {
  name: string;
  /** The method that an array is an input of; "" where calls are complete. */
  method: string;
  /** A short description. */
  words: string;
  array: Tensor | null;
  /** Complete calls, by method. */
  calls: Readonly<Record<string, readonly (readonly Value[])[]>>;
  /** Why it cannot be taken; empty when it can. */
  fault: string;
}

/** How a program is quantized before it is lowered. */
export interface Quantizing {
  /** The name of a recipe; empty where nothing is quantized. */
  recipe: string;
  /** Elements that share a scale, for recipes with groups. */
  groupSize: number;
  /** Nodes that stay as they are: a pattern a line. */
  skip: string;
  /** True if every node is compared with the float program. */
  compares: boolean;
  calibration: readonly Calibration[];
}

/** Settings that the user can choose for lowering. */
export interface Settings {
  quantizing: Quantizing;
  /** By name; what is not there is at its default. */
  options: Chosen;
  /** The backend that is given what it takes of a method, by method; none where there is no row. */
  backends: Readonly<Record<string, string>>;
  /** True if delegates are compared with the kernels. */
  verifies: boolean;
  /** One "name = value" a line. */
  constants: string;
}

/** The files of a tokenizer, which belong to a model. */
export interface TokenizerFiles {
  /** tokenizer.json of Hugging Face, or tokenizer.bin of llama2.c. */
  tokenizer: Blob | null;
  /** tokenizer_config.json. */
  config: Blob | null;
  /** chat_template.jinja. */
  template: Blob | null;
  /** preprocessor_config.json: how pictures are normalized. */
  preprocessor: Blob | null;
}

export type SampleId = "story" | "face" | "mlp";

export interface Document {
  title: string;
  /** "record": what was recorded of a program that is not here. */
  kind: "pt2" | "pte" | "record";
  files: readonly MethodFile[];
  /** Not there: nobody has brought a tokenizer. */
  tokenizer?: TokenizerFiles;
  sample?: SampleId;
  settings: Settings;
  /** Settings or names were edited since the last lowering. */
  isEdited: boolean;
}

/** Work under way; `total` is 0 when unknown. */
interface Busy {
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
  /** The user's own line, "model.py:12 in forward: return self.fc(x)". */
  source: string;
  /** The whole diagnostic, for the clipboard. */
  details: string;
}

export type Filler = "random" | "zeros" | "ones" | "numbers" | "record" | "file" | "value";

/** A backend's lines about a part; or the reason why there are none, else empty. */
export interface PartText {
  lines: readonly string[];
  fault: string;
}

/** Fields as they were typed: what is wrong with them is said when they are used. */
export interface InputForm {
  filler: Filler;
  seed: string;
  /** Sizes of a dynamic tensor. */
  shape: string;
  /** Numbers of a tensor, or the value of a scalar. */
  text: string;
  tensor: Tensor | null;
  fileName: string;
  error: string;
}

export interface ScalarView {
  kind: "none" | "boolean" | "number" | "bigint" | "string";
  text: string;
}

export interface TensorView {
  kind: "tensor";
  tensor: Tensor;
  min: number;
  max: number;
  mean: number;
  nanCount: number;
  count: number;
  first: readonly number[];
  top: readonly { index: number; value: number }[];
}

export type OutputView = ScalarView | TensorView;

export interface RunState {
  inputs: readonly InputForm[];
  outputs: readonly OutputView[];
  /** Milliseconds of each run, the last one at the end. */
  times: readonly number[];
  repeat: number;
}

/** A picture or a recording in a message. */
export interface Attachment {
  kind: "image" | "audio";
  name: string;
  /** The address of the picture, for its thumbnail. */
  url: string;
  /** The part of the message, as the library takes it. */
  part: MessagePart;
}

/** A message and its answer, or a text and how the model goes on with it. */
export interface Turn {
  given: string;
  attached: readonly Attachment[];
  /** The answer as far as it is there. */
  text: string;
  /** Why it ended, where the model did not end it. */
  ending: string;
}

/** How answers are generated, as it was typed. */
export interface TalkSettings {
  system: string;
  temperature: string;
  topK: string;
  topP: string;
  minP: string;
  seed: string;
  maxNewTokens: string;
}

/** The speed of an answer. */
export interface TalkFigures {
  /** Tokens of the prompt that were run, and milliseconds until the first token of the answer. */
  readTokens: number;
  readMs: number;
  /** Tokens of the answer, and milliseconds from the first of them to the last. */
  tokens: number;
  ms: number;
}

/** A conversation with a language model, or a text that it goes on with. */
export interface Talk {
  /** "idle": the tokenizer was not read yet. "reading": the prompt runs. "writing": the answer comes. */
  status: "idle" | "opening" | "failed" | "ready" | "reading" | "writing";
  /** True if the model has a chat template, and so takes messages. */
  takesMessages: boolean;
  draft: string;
  /** The pictures and recordings that go with the draft. */
  attached: readonly Attachment[];
  /** Why the draft cannot be used; empty when it can. */
  fault: string;
  settings: TalkSettings;
  turns: readonly Turn[];
  figures: TalkFigures | null;
  /** The work before the first token; `total` is 0 when unknown. */
  progress: { phase: string; done: number; total: number } | null;
  /** Tokens in the context, and how many it holds. */
  used: number;
  contextLength: number;
  /** Possible faults of the program and of its tokenizer. */
  warnings: readonly string[];
}

const NO_TALK: Talk = {
  status: "idle",
  takesMessages: false,
  draft: "",
  attached: [],
  fault: "",
  settings: {
    system: "",
    temperature: "0",
    topK: "",
    topP: "",
    minP: "",
    seed: "",
    maxNewTokens: "",
  },
  turns: [],
  figures: null,
  progress: null,
  used: 0,
  contextLength: 0,
  warnings: [],
};

export interface Faces {
  status: "idle" | "running";
  source: "photo" | "picture" | "camera";
  url: string;
  width: number;
  height: number;
  found: readonly Face[];
  ms: number;
}

const NO_FACES: Faces = {
  status: "idle",
  source: "photo",
  url: "",
  width: 4,
  height: 3,
  found: [],
  ms: 0,
};

/** The engine's report on a dump, or on a record without one. */
export interface Profile {
  id: number;
  title: string;
  report: InspectorReport;
  blocks: readonly EventBlock[];
  ops: readonly InspectorTotal[];
  modules: readonly InspectorTotal[];
  timeline: Timeline;
  delegation: readonly DelegationTotals[];
  /** Values were logged, and there is a record to compare them with. */
  canCompare: boolean;
  /** How far values are from their reference, by method, as far as that was asked. */
  gaps: ReadonlyMap<string, MethodGap>;
}

/** Distance of a method's values from their reference; or the reason why it is not known. */
export interface MethodGap {
  report: GapReport | null;
  fault: string;
}

/** Places and times of each method's values in the file; or the reason why they are not known. */
export interface FilePlans {
  plans: readonly MemoryPlan[];
  /** Why values have no names though there is a record. */
  warnings: readonly string[];
  fault: string;
}

/** A value that a record holds, by its name in the graph where that is known. */
export interface RecordedValue {
  name: string;
  view: OutputView;
}

/** The contents of a record apart from its graphs. */
export interface RecordContents {
  stages: readonly RecordStage[];
  hasHandles: boolean;
  unknownEntries: readonly string[];
  unreadEntries: readonly UnreadEntry[];
  /** Inputs of one case; null if the record has none. */
  inputs: readonly RecordedValue[] | null;
  /** Outputs of each case, by method. */
  outputs: readonly { method: string; cases: readonly (readonly RecordedValue[])[] }[];
  /** Why it cannot be read; else empty. */
  fault: string;
}

/** How long calls took, float and quantized in turns, and what they were given. */
export interface Speed {
  method: string;
  on: "calibration" | "example" | "random";
  float: readonly number[];
  quantized: readonly number[];
}

/** A text, as one of the two programs goes on with it. */
export interface Telling {
  text: string;
  tokens: readonly number[];
  ms: number;
}

/** One of the two programs on a picture. */
export interface Sighting {
  found: readonly Face[];
  ms: number;
}

/** The quantized program compared with the float one, lowered the same way. */
export interface Compared {
  /** Bytes of all files of each, once both are there. */
  floatBytes: number;
  quantizedBytes: number;
  speeds: readonly Speed[];
  stories: { float: Telling; quantized: Telling } | null;
  sightings: {
    url: string;
    width: number;
    height: number;
    float: Sighting;
    quantized: Sighting;
  } | null;
  /** Why there is nothing to compare with; else empty. */
  fault: string;
}

export type ProfileLook = "flame" | "events" | "ops" | "modules" | "delegates" | "compare";

/** A call that came with the program. */
export interface BundledCase {
  method: string;
  testCase: number;
  inputs: number;
  /** Outputs that are expected; 0: it is only run. */
  expected: number;
}

/** The cases of a bundled program, and their results. */
export interface Cases {
  list: readonly BundledCase[];
  /** As they were typed: how far floats may be off. */
  rtol: string;
  atol: string;
  verdicts: readonly CaseVerdict[];
}

const NO_CASES: Cases = { list: [], rtol: "1e-5", atol: "1e-8", verdicts: [] };

interface LogLine {
  at: number;
  text: string;
}

const idleSteps = (): Record<StepId, Step> => ({
  ...(Object.fromEntries(STEPS.map((id) => [id, { status: "idle" }])) as Record<StepId, Step>),
  quantized: { status: "absent" },
  delegated: { status: "absent" },
});

export const app = {
  theme: signal<"auto" | "light" | "dark">("auto"),
  /** The theme in use, given the system's. */
  isDark: signal(false),
  engine: signal<{ status: "starting" | "ready" | "failed"; version: string }>({
    status: "starting",
    version: "",
  }),
  /** Short names of dtypes ("f32"), from the engine. */
  dtypes: signal<ReadonlyMap<string, string>>(new Map()),
  /** Families of operators, by what graphs and programs call them; from the engine. */
  families: signal<ReadonlyMap<string, OpFamily>>(new Map()),
  /** Backends of this build; from the engine. */
  backends: signal<Meta["backends"]>([]),

  /** False once it is known that the models of the large samples are not in the page's folder. */
  hasModels: signal(true),

  document: signal<Document | null>(null),
  steps: signal(idleSteps()),
  report: signal<CompilationReport | null>(null),
  /** The fate of each node; null when no backend was asked. */
  delegation: signal<Delegation | null>(null),
  /** How far what backends made is from the kernels; null when that was not asked for. */
  verification: signal<Verification | null>(null),
  /** The report of quantizing, with its settings; null if the program was not quantized. */
  quantization: signal<{ report: QuantizationReport; settings: Quantizing } | null>(null),
  /** Both programs, once they were compared. */
  compared: signal<Compared | null>(null),
  program: signal<ProgramReport | null>(null),
  /** The contents of a part of the program, by "method/number". */
  partTexts: signal<ReadonlyMap<string, PartText>>(new Map()),
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

  /** Laid out graphs, by program, method and what is known of its parts. */
  scenes: signal<ReadonlyMap<string, Scene>>(new Map()),
  /** The selected box of a graph, where that is no node: a group, an input, an output. */
  box: signal(""),
  /** The outcome of a search, until something else is selected. */
  said: signal(""),

  /** False once the worker that knows the versions was ended: what was not fetched cannot be shown. */
  canLook: signal(true),

  busy: signal<Busy | null>(null),
  problems: signal<readonly Problem[]>([]),
  log: signal<readonly LogLine[]>([]),
  dock: signal<"closed" | "problems" | "log" | "profile">("closed"),
  helpOpen: signal(false),
  /** The engine's tables; null until it is there. */
  meta: signal<Meta | null>(null),
  dragging: signal(false),

  runs: signal<Readonly<Record<string, RunState>>>({}),
  cases: signal(NO_CASES),
  talk: signal(NO_TALK),
  speech: signal(NO_SPEECH),
  faces: signal(NO_FACES),

  /** The memory plans of the program's file; null until they are shown. */
  filePlans: signal<FilePlans | null>(null),
  /** The number of the planned value that is selected; null for none. */
  planned: signal<number | null>(null),

  /** The file that the record came as, or what stands for it when it was made here; empty: there is no record. */
  recordName: signal(""),
  /** The record's contents; null until it is shown. */
  record: signal<RecordContents | null>(null),

  /** Dumps that were dropped or recorded here, the latest at the end. */
  profiles: signal<readonly Profile[]>([]),
  /** Which of them is shown, how, and which event of it is selected. */
  profile: signal(0),
  profileLook: signal<ProfileLook>("flame"),
  event: signal<{ block: number; event: number } | null>(null),
  comparison: signal<{ a: number; b: number; found: DumpComparison } | null>(null),
};

/** Puts everything about a document back to nothing. */
export function clearDocument(): void {
  app.steps.value = idleSteps();
  app.report.value = null;
  app.delegation.value = null;
  app.verification.value = null;
  app.quantization.value = null;
  app.compared.value = null;
  app.partTexts.value = new Map();
  app.program.value = null;
  app.programBytes.value = 0;
  app.lowerMs.value = null;
  app.views.value = {};
  app.node.value = "";
  app.search.value = "";
  app.sort.value = { column: "", descending: false };
  app.rows.value = new Map();
  app.lines.value = new Map();
  app.scenes.value = new Map();
  app.box.value = "";
  app.said.value = "";
  app.problems.value = [];
  app.dock.value = "closed";
  app.runs.value = {};
  app.cases.value = NO_CASES;
  app.talk.value = NO_TALK;
  app.speech.value = NO_SPEECH;
  app.faces.value = NO_FACES;
  app.filePlans.value = null;
  app.planned.value = null;
  app.recordName.value = "";
  app.record.value = null;
  app.profiles.value = [];
  app.profile.value = 0;
  app.profileLook.value = "flame";
  app.event.value = null;
  app.comparison.value = null;
}

export function setStep(id: StepId, step: Step): void {
  app.steps.value = { ...app.steps.value, [id]: step };
}
