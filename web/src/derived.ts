// Values derived from the state: the version, method, view and lists that are shown.
import { computed } from "@preact/signals";
import { delegated } from "@sconce/base/errors.js";
import type {
  CompilationReport,
  MethodPlan,
  MethodSummary,
  NodeRow,
  ProgramMethodInfo,
  ProgramValueInfo,
  StageSummary,
} from "@sconce/types/index.js";
import { viewsFor, type View, type StepId } from "./looks.js";
import { app, STEPS, type RecordedValue } from "./state.js";

export function versionOf(
  report: CompilationReport | null,
  step: StepId,
): StageSummary | undefined {
  // Handing parts over makes another version of the edge program.
  const edges = report?.stages.filter((version) => version.stage === "edge") ?? [];
  if (step === "edge") return edges[0];
  if (step === "delegated") return edges[1];
  // So does quantizing, of what was opened.
  const sources = report?.stages.filter((version) => version.stage === "source") ?? [];
  if (step === "source") return sources[0];
  if (step === "quantized") return sources[1];
  return report?.stages.findLast((version) => version.stage === step);
}

/** The step before or after this one that has nodes. */
export function neighbourStep(step: StepId, by: -1 | 1): StepId | undefined {
  const all = STEPS.filter((id) => versionOf(app.report.value, id));
  const at = all.indexOf(step);
  return at < 0 ? undefined : all[at + by];
}

const MADE_ON_DEMAND: ReadonlySet<StepId> = new Set(["quantized", "delegated"]);

/** The steps of what is open, as the spine shows them and keys count them. */
export const shownSteps = computed((): readonly StepId[] =>
  STEPS.filter((id) => !MADE_ON_DEMAND.has(id) || app.steps.value[id].status !== "absent"),
);

export const version = computed(() => versionOf(app.report.value, app.step.value));

export const methodSummary = computed((): MethodSummary | undefined =>
  version.value?.methods.find((method) => method.name === app.method.value),
);

/** A size without a maximum in the files that were opened. */
export interface OpenSize {
  /** The name in the engine's options. */
  name: string;
  symbol: string;
  method: string;
  /** "tokens.1", where an input's dimension is just the symbol. */
  size: string | null;
  /** The first dimension that is made of the symbol. */
  place: string;
  example: number | null;
}

export const openSizes = computed((): readonly OpenSize[] => {
  const methods = versionOf(app.report.value, "source")?.methods ?? [];
  return methods.flatMap(({ name: method, symbols }) =>
    symbols.flatMap(({ name: symbol, max, size, place, example }) =>
      max !== null || place === null
        ? []
        : [
            {
              name: methods.length > 1 ? `${method}:${symbol}` : symbol,
              symbol,
              method,
              size,
              place,
              example,
            },
          ],
    ),
  );
});

export const programMethod = computed((): ProgramMethodInfo | undefined =>
  app.program.value?.methods.find((method) => method.name === app.method.value),
);

/** Fewer scores are classes rather than a vocabulary. */
const VOCABULARY_LEAST = 256;

/** True if a method takes a row of token ids and gives scores for a vocabulary, or rows of a table. */
function takesTokens({ inputs, outputs }: ProgramMethodInfo): boolean {
  const [tokens] = inputs;
  const shape = tokens?.shape ?? [];
  const isRow = shape.length === 1 || (shape.length === 2 && shape[0] === 1);
  const isScores = ({ dtype, shape: sizes = [] }: ProgramValueInfo): boolean =>
    /float/.test(dtype ?? "") && sizes.length > 1 && sizes.at(-1)! >= VOCABULARY_LEAST;
  return isRow && /^int(32|64)$/.test(tokens?.dtype ?? "") && outputs.some(isScores);
}

/** True if the program may be a language model: opening it as one shows more. */
export const looksLikeLanguageModel = computed(
  () => app.program.value?.methods.some(takesTokens) ?? false,
);

/** True for an encoder of sound: it takes samples, or bands of 3,000 frames, and nothing else. */
function hears({ name, inputs }: ProgramMethodInfo): boolean {
  const [sound, ...others] = inputs;
  const shape = sound?.shape ?? [];
  const isSound = shape.length < 3 || shape.at(-1) === 3000;
  return /^encoder?$/.test(name) && others.length === 0 && isSound && sound?.dtype !== "int64";
}

/** True if the program has the form of Whisper: an encoder of sound, and a decoder that writes. */
export const looksLikeSpeech = computed(() => {
  const methods = app.program.value?.methods ?? [];
  return methods.some(hears) && methods.some(({ name }) => /^(text_)?decoder?$/.test(name));
});

/** True if messages may have pictures, or sound: the program has an encoder of them. */
export const takesParts = computed(() => {
  const has = (encoder: string): boolean =>
    app.program.value?.methods.some(({ name }) => name === encoder) ?? false;
  return { image: has("vision_encoder"), audio: has("audio_encoder") };
});

/** Why the current method cannot run, where that is known before it is tried. */
export const runFault = computed(() => programMethod.value && delegated(programMethod.value));

export const plan = computed((): MethodPlan | undefined =>
  app.report.value?.plans.find((item) => item.method === app.method.value),
);

/**
 * Records tell of nodes only: what goes in and out of a method is in the files that were lowered, and
 * what could be called is in the program.
 */
const isShown = (name: View): boolean => {
  const kind = app.document.value?.kind;
  if (name === "cases") return app.cases.value.list.length > 0;
  if (name === "changes") return neighbourStep(app.step.value, -1) !== undefined;
  if (name === "record") return app.recordName.value !== "";
  if (name === "talk" || name === "speech")
    return (
      app.document.value?.tokenizer !== undefined && (name === "speech") === looksLikeSpeech.value
    );
  return name === "call" ? kind !== "record" : name !== "summary" || kind === "pt2";
};

/** Steps that show something else than versions. */
const hasOwnViews = (step: StepId): boolean =>
  step === "run" ? app.document.value !== null : step === "program" && app.program.value !== null;

export const viewsOfStep = computed((): readonly View[] =>
  version.value || hasOwnViews(app.step.value) ? viewsFor(app.step.value).filter(isShown) : [],
);

export const view = computed((): View => {
  const [chosen, shown] = [app.views.value[app.step.value], viewsOfStep.value];
  // It is not known before the program is there whether it talks or hears.
  const isThere = shown.length === 0 || shown.includes(chosen!);
  return (isThere ? chosen : undefined) ?? shown[0] ?? viewsFor(app.step.value)[0]!;
});

/** Key of the rows and lines that the current version shows. */
export const listKey = computed(() =>
  version.value && methodSummary.value ? `${version.value.program}/${app.method.value}` : "",
);

export const rows = computed(() => app.rows.value.get(listKey.value));

/** Key of the rows that parts of the version are made of: those of the edge program. */
export const innerKey = computed(() => {
  const isAfter = app.step.value === "delegated" || app.step.value === "executorch";
  const edge = isAfter && app.delegation.value ? versionOf(app.report.value, "edge") : undefined;
  return edge ? `${edge.program}/${app.method.value}` : "";
});

/** Key of the rows of the version before. */
export const earlierKey = computed(() => {
  const step = listKey.value ? neighbourStep(app.step.value, -1) : undefined;
  const before = step && versionOf(app.report.value, step);
  return before ? `${before.program}/${app.method.value}` : "";
});

export const earlierRows = computed(() => app.rows.value.get(earlierKey.value));

/** The nodes that parts of the version are made of, and those around them. */
export const innerRows = computed(() => app.rows.value.get(innerKey.value));

/** The node that is selected: one of the version, or of a part in it. */
export const selectedRow = computed((): NodeRow | undefined => {
  const isIt = (row: NodeRow): boolean => row.name === app.node.value;
  return rows.value?.find(isIt) ?? innerRows.value?.find(isIt);
});

/** Which node makes a value. */
export const makers = computed(
  (): ReadonlyMap<string, NodeRow> =>
    new Map(
      [...(innerRows.value ?? []), ...(rows.value ?? [])].flatMap((row) =>
        row.outputs.map((out) => [out.name, row] as const),
      ),
    ),
);

export const lines = computed(() => app.lines.value.get(listKey.value));

/** Methods in the order they were given; constant methods only appear once the program exists. */
export const methodNames = computed((): readonly string[] => {
  const opened = app.report.value?.stages[0]?.methods.map((m) => m.name) ?? [];
  const made = app.program.value?.methods.map((m) => m.name) ?? [];
  return [...new Set([...opened, ...made])];
});

/** Nodes of the selected method at a step, as far as it has come. */
export function nodesAt(step: StepId): number | undefined {
  return versionOf(app.report.value, step)?.methods.find((m) => m.name === app.method.value)?.nodes;
}

/** True if an input takes the value: it is of its kind, and within its sizes. */
function fits({ view: own }: RecordedValue, info: ProgramValueInfo): boolean {
  if (own.kind !== "tensor") return info.kind !== "tensor";
  const { dtype, shape } = own.tensor;
  const most = info.shape ?? [];
  const isSize = (size: number, i: number): boolean =>
    info.dynamic ? size <= most[i]! : size === most[i];
  return dtype === info.dtype && shape.length === most.length && shape.every(isSize);
}

/** The inputs of the record, where they are ones that a method takes. */
export function recordInputsFor(method: string): readonly RecordedValue[] | null {
  const taken = app.program.value?.methods.find(({ name }) => name === method)?.inputs;
  const inputs = app.record.value?.inputs;
  if (!taken || !inputs || taken.length !== inputs.length || taken.length === 0) return null;
  return inputs.every((value, i) => fits(value, taken[i]!)) ? inputs : null;
}

/** True if a method is called with the inputs of the record. */
export function usesRecordInputs(method: string): boolean {
  const inputs = recordInputsFor(method);
  const forms = app.runs.value[method]?.inputs ?? [];
  return (
    inputs !== null &&
    inputs.every(({ view: own }, i) =>
      own.kind === "tensor" ? forms[i]?.filler === "record" : forms[i]?.text === own.text,
    )
  );
}
