// The record of the program that is open: the one that was dropped, or the one that lowering has
// kept. Reads its contents, gives its inputs to a run, and saves it.
import { effect } from "@preact/signals";
import type {
  ETRecord,
  RecordStage,
  RecordValue,
  Remote,
  TensorInfo,
  Value,
} from "@sconce/types/index.js";
import { recordInputsFor, view } from "../derived.js";
import { app, type RecordedValue, type RecordContents } from "../state.js";
import { ask } from "./arrays.js";
import { engine, isCancelled, onEngineLost } from "./engine.js";
import { checkRoom, download, stemOf } from "./files.js";
import { handles, using } from "./handles.js";
import { fault, note, report, sentenceOf } from "./problems.js";
import { setInput } from "./run.js";
import { showStages } from "./stages.js";

const LIGHT = { light: true };

onEngineLost(() => {
  // A record that lowering has kept dies with the worker, a file does not.
  if (!handles.record) app.recordName.value = "";
});

/** Why a record that was dropped is not of the program that is open; none where it may be. */
const misfits = (file: File, warnings: readonly string[]): Error[] =>
  warnings.map((warning) =>
    fault(
      "input",
      `${file.name} seems to be of another program: ${warning}`,
      "Drop the .etrecord that was written together with the program.",
    ),
  );

/**
 * Takes a record that was dropped for what is open; returns what speaks against it. One that came
 * without a dump gives what is open its name, where that is only a record as well.
 */
export async function takeRecord(file: File, isAlone: boolean): Promise<Error[]> {
  const { pte } = handles;
  const client = await engine();
  const inspector = await client.inspector({ etrecord: file, ...(pte ? { program: pte } : {}) });
  const { etrecord, warnings } = await inspector.report();
  handles.record = file;
  app.recordName.value = file.name;
  app.record.value = null;
  // Values of the plan get their names from it.
  app.filePlans.value = null;
  const { value: document } = app.document;
  if (isAlone && document?.kind === "record" && app.profiles.value.length === 0)
    app.document.value = { ...document, title: file.name };
  if (document?.kind === "pt2") void inspector.dispose();
  else showStages(inspector, etrecord!.stages);
  return misfits(file, warnings);
}

/** The record as a file; null where there is none. */
export async function recordFile(options: { light?: boolean } = {}): Promise<Blob | null> {
  const { record, lowered } = handles;
  if (record || !lowered) return record;
  return using(await lowered.getEtrecord(), (kept) => kept.toBlob(options));
}

const parsed = async (file: Blob): Promise<Remote<ETRecord>> =>
  (await engine()).parseEtrecord(file);

/**
 * The record with the inputs of a run in the place of its own, if some are given. The results of its
 * own inputs are no reference then.
 */
export async function recordOn(inputs?: readonly Value[]): Promise<Blob | null> {
  const file = await recordFile();
  if (!file || !inputs) return file;
  return using(await parsed(file), async (record) => {
    await record.updateRepresentativeInputs(inputs);
    await record.updateReferenceOutputs(null);
    return record.toBlob();
  });
}

// --- Contents ----------------------------------------------------------------------------------------

const flat = (value: RecordValue): Value[] =>
  Array.isArray(value) ? value.flatMap(flat) : [value as Value];

/** Values with the names of what they are for, where there are as many. */
async function named(
  values: readonly RecordValue[],
  ports: readonly { name: string }[],
): Promise<RecordedValue[]> {
  const views = await ask("look", [values.flatMap(flat)]);
  const isSame = views.length === ports.length;
  return views.map((own, i) => ({ name: isSame ? ports[i]!.name : "", view: own }));
}

/** The graph of a method that is nearest to the program. */
function stageOf(stages: readonly RecordStage[], method: string): RecordStage | undefined {
  const isIt = (stage: RecordStage): boolean => stage.method === method;
  const edge = stages.filter(({ stage }) => stage === "edge_dialect_exported_program");
  // The official writer calls the only method forward.
  return edge.find(isIt) ?? (edge.length === 1 ? edge[0] : stages.find(isIt));
}

type Port = Pick<TensorInfo, "name"> & { role: string };

/** Values that the caller of a method gives or gets. */
function portsOf(stages: readonly RecordStage[], method: string, of: "inputs" | "outputs"): Port[] {
  const ports: readonly Port[] = stageOf(stages, method)?.[of] ?? [];
  return ports.filter(({ role }) => /^(user_(input|output)|constant_input)$/.test(role));
}

async function tellRecord(file: Blob): Promise<RecordContents> {
  const client = await engine();
  const { etrecord } = await using(await client.inspector({ etrecord: file }), (inspector) =>
    inspector.report(),
  );
  const { stages, hasHandles, unknownEntries, unreadEntries } = etrecord!;
  return using(await parsed(file), async (record) => {
    const given = await record.representativeInputs();
    const expected = Object.entries((await record.referenceOutputs()) ?? {});
    const outputs = expected.map(async ([method, cases]) => {
      const ports = portsOf(stages, method, "outputs");
      const listed = cases.map((one) => named(Array.isArray(one) ? one : [one], ports));
      return { method, cases: await Promise.all(listed) };
    });
    return {
      stages,
      hasHandles,
      unknownEntries,
      unreadEntries,
      inputs: given && (await named(given, portsOf(stages, "forward", "inputs"))),
      outputs: await Promise.all(outputs),
      fault: "",
    };
  });
}

const EMPTY: RecordContents = {
  stages: [],
  hasHandles: false,
  unknownEntries: [],
  unreadEntries: [],
  inputs: null,
  outputs: [],
  fault: "",
};

/** The origin of the record: the file, or the program that was lowered here. */
const origin = (): object | null => handles.record ?? handles.lowered;

async function look(from: object): Promise<void> {
  const show = (contents: RecordContents | null): void => {
    if (origin() === from) app.record.value = contents;
  };
  try {
    const file = await recordFile();
    show(file && (await tellRecord(file)));
  } catch (error) {
    if (!isCancelled(error)) show({ ...EMPTY, fault: sentenceOf(error) });
  }
}

/** Looks into the record once something of it is shown. */
export function watchRecord(): void {
  let asked: object | null = null;
  effect(() => {
    const isShown = app.step.value === "run" && (view.value === "record" || view.value === "call");
    const hasRecord = app.recordName.value !== "";
    // A task that is under way comes first.
    if (!hasRecord || !isShown || app.record.value || app.busy.value) return;
    const from = origin();
    if (!from || asked === from) return;
    asked = from;
    void look(from).finally(() => {
      if (asked === from) asked = null;
    });
  });
}

// --- Its inputs ----------------------------------------------------------------------------------------

/** Puts the inputs of the record into the fields of Call. */
export function takeRecordInputs(method: string): void {
  const inputs = recordInputsFor(method) ?? [];
  inputs.forEach(({ view: own }, i) =>
    setInput(
      method,
      i,
      own.kind === "tensor" ? { filler: "record" } : { filler: "value", text: own.text },
    ),
  );
  app.views.value = { ...app.views.value, run: "call" };
}

// --- Saving --------------------------------------------------------------------------------------------

/** Saves what the exporter knew of the program, for debugging and profiling elsewhere. */
export async function saveRecord(isLight: boolean): Promise<void> {
  const { value: document } = app.document;
  if (!document) return;
  const name = `${stemOf(document)}.etrecord`;
  try {
    const file = await recordFile(isLight ? LIGHT : {});
    if (!file)
      throw fault(
        "state",
        "the record was lost when the work was cancelled",
        "Lower the model again, then save it.",
      );
    download(await checkRoom(file), name);
    note(`saved ${name}${isLight ? ", without weights" : ""}`);
  } catch (error) {
    if (!isCancelled(error)) report(error, "program");
  }
}
