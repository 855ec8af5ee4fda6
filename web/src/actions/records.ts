// Records: what a run did (.etdp), what was lowered (.etrecord), and the values of a run (.bin).
// They come as files, or are made here; the engine's inspector tells what is in them.
import { effect } from "@preact/signals";
import { DIALECTS } from "@sconce/steps.gen.js";
import type { CompilationReport, ErrorCode, Remote, Value } from "@sconce/types.js";
import type {
  Inspector,
  InspectorFiles,
  InspectorReport,
  RecordStage,
} from "@sconce/types_inspector.js";
import {
  app,
  setStep,
  type MethodGap,
  type Profile,
  type ProfileLook,
  type StepId,
} from "../state.js";
import { ask } from "./arrays.js";
import { engine, isCancelled, onEngineLost } from "./engine.js";
import { download } from "./files.js";
import { handles, loadedProgram, using } from "./handles.js";
import { gapProfile, nodeNameOf, ranIn } from "../profile.js";
import { selectNode } from "./look.js";
import { fault, note, report, sentenceOf } from "./problems.js";
import { fillingsOf } from "./run.js";
import { stopStory } from "./story.js";
import { runTask, type Task } from "./task.js";

/** What each profile was made from: inspectors die with the worker, files do not. */
const files = new Map<number, InspectorFiles>();
const inspectors = new Map<number, Promise<Remote<Inspector>>>();
let count = 0;

onEngineLost(() => inspectors.clear());

/** Lets go of all profiles. */
export function forgetProfiles(): void {
  for (const id of [...inspectors.keys()]) letGo(id);
  files.clear();
}

/** Disposes the inspector of a profile, even one that is still being opened. */
function letGo(id: number): void {
  inspectors.get(id)?.then(
    (inspector) => void inspector.dispose(),
    () => undefined,
  );
  inspectors.delete(id);
}

/** One for all who ask at a time; who asks after a failure asks anew. */
function inspectorOf(id: number): Promise<Remote<Inspector>> {
  const known = inspectors.get(id);
  if (known) return known;
  const opening = openInspector(id);
  inspectors.set(id, opening);
  opening.catch(() => {
    if (inspectors.get(id) === opening) inspectors.delete(id);
  });
  return opening;
}

async function openInspector(id: number): Promise<Remote<Inspector>> {
  const own = files.get(id);
  if (!own) throw fault("disposed", "this profile is gone", "Open its files again.");
  return (await engine()).inspector(own);
}

/** Values and a record to compare them with are there. */
const hasGap = ({ etdump, etrecord }: InspectorReport): boolean =>
  etrecord !== null && (etdump?.values ?? 0) > 0 && etdump?.debugBufferBytes !== null;

/** What the inspector tells, all at once. */
async function tell(id: number, title: string): Promise<Profile> {
  const inspector = await inspectorOf(id);
  const about = await inspector.report();
  const [blocks, ops, modules, timeline, delegation] = await Promise.all([
    inspector.events(),
    inspector.ops(),
    inspector.modules(),
    inspector.timeline(),
    // What went to backends is in the record.
    about.etrecord ? inspector.delegation() : [],
  ]);
  const told = { id, title, report: about, blocks, ops, modules, timeline, delegation };
  return { ...told, canCompare: hasGap(about), gaps: new Map<string, MethodGap>() };
}

/** Gaps of a method, or why there are none. */
async function gapOf(
  inspector: Remote<Inspector>,
  { etrecord }: InspectorReport,
  method: string,
  reference?: string,
): Promise<MethodGap> {
  const options = {
    ...(etrecord!.methods.includes(method) ? { method } : {}),
    ...(reference === undefined ? {} : { reference }),
  };
  try {
    return { report: await inspector.numericGap(options), fault: "" };
  } catch (error) {
    if (isCancelled(error)) throw error;
    return { report: null, fault: sentenceOf(error) };
  }
}

async function tellGap(
  { id, report: about }: Profile,
  method: string,
  reference?: string,
): Promise<void> {
  try {
    const found = await gapOf(await inspectorOf(id), about, method, reference);
    app.profiles.value = app.profiles.value.map((profile) =>
      profile.id === id ? { ...profile, gaps: new Map(profile.gaps).set(method, found) } : profile,
    );
  } catch (error) {
    if (!isCancelled(error)) report(error, "run");
  }
}

/** Compares with the values of another stage of the record. */
export async function setReference(id: number, reference: string): Promise<void> {
  const shown = app.profiles.value.find((profile) => profile.id === id);
  if (shown) await tellGap(shown, app.method.value, reference);
}

/** Shows what was recorded of the method that is shown, and compares its values, once. */
export function watchProfiles(): void {
  const asked = new Set<string>();
  effect(() => {
    const method = app.method.value;
    const list = app.profiles.peek();
    const shown = list.find(({ id }) => id === app.profile.peek());
    if (!shown || ranIn(shown, method)) return;
    const other = list.findLast((profile) => ranIn(profile, method));
    if (other) showProfile(other.id);
  });
  effect(() => {
    const method = app.method.value;
    const { value: shown } = gapProfile;
    const key = `${shown?.id}/${method}`;
    if (!shown?.canCompare || !ranIn(shown, method) || asked.has(key)) return;
    asked.add(key);
    void tellGap(shown, method);
  });
}

/** Opens a dump beside those that are there, and shows it. */
export async function addProfile(title: string, from: InspectorFiles): Promise<Profile> {
  const { value: document } = app.document;
  const id = ++count;
  files.set(id, from);
  try {
    const made = await tell(id, title);
    if (document === app.document.value) {
      app.profiles.value = [...app.profiles.value, made];
      showProfile(id);
    }
    return made;
  } catch (error) {
    letGo(id);
    files.delete(id);
    throw error;
  }
}

export function showProfile(id: number): void {
  app.profile.value = id;
  app.event.value = null;
}

/** Shows a profile that was chosen, and the method that it is of. */
export function chooseProfile(id: number): void {
  const chosen = app.profiles.value.find((profile) => profile.id === id);
  showProfile(id);
  const method = chosen?.blocks.find(({ method: name }) => name !== null)?.method;
  if (chosen && method && !ranIn(chosen, app.method.value)) app.method.value = method;
}

export function closeProfile(id: number): void {
  letGo(id);
  files.delete(id);
  app.profiles.value = app.profiles.value.filter((profile) => profile.id !== id);
  app.comparison.value = null;
  showProfile(app.profiles.value.at(-1)?.id ?? 0);
}

export function showProfileLook(look: ProfileLook): void {
  app.profileLook.value = look;
}

/** Selects an event, and the node that it ran, where the version that is shown has it. */
export function selectEvent(block: number, event: number): void {
  app.event.value = { block, event };
  const shown = app.profiles.value.find(({ id }) => id === app.profile.value);
  const node = shown?.blocks[block]?.events[event]?.nodes.at(-1);
  if (node) selectNode(nodeNameOf(node));
}

export async function compareProfiles(a: number, b: number): Promise<void> {
  const own = files.get(b);
  if (!own) return;
  try {
    const found = await (await inspectorOf(a)).compare(own);
    app.comparison.value = { a, b, found };
  } catch (error) {
    if (!isCancelled(error)) report(error, "run");
  }
}

/** Saves the timeline for Perfetto. */
export async function saveTrace(id: number): Promise<void> {
  const shown = app.profiles.value.find((profile) => profile.id === id);
  if (!shown) return;
  try {
    const text = await (await inspectorOf(id)).trace();
    download(new Blob([text], { type: "application/json" }), `${stemOf(shown.title)}.trace.json`);
  } catch (error) {
    if (!isCancelled(error)) report(error, "run");
  }
}

/** Saves the dump itself, and the values beside it. */
export function saveDump(id: number): void {
  const shown = app.profiles.value.find((profile) => profile.id === id);
  const own = files.get(id);
  if (!shown || !(own?.etdump instanceof Blob)) return;
  download(own.etdump, `${stemOf(shown.title)}.etdp`);
  if (own.debugBuffer instanceof Blob && own.debugBuffer.size > 0)
    download(own.debugBuffer, `${stemOf(shown.title)}.debug.bin`);
}

const stemOf = (title: string): string =>
  title.replace(/\.(etdp|etdump)$/i, "").replace(/[^\p{L}\p{N}_-]+/gu, "_");

// --- Files -----------------------------------------------------------------------------------------

export interface RecordFiles {
  etrecord: readonly File[];
  etdp: readonly File[];
  /** Values that dumps refer to. */
  values: readonly File[];
}

/** The values of a dump: those of its name, or the only ones there are. */
function valuesOf(dump: File, { etdp, values }: RecordFiles): File | undefined {
  const stem = (file: File): string => file.name.replace(/(\.debug)?\.\w+$/, "");
  const own = values.find((file) => stem(file) === stem(dump));
  return own ?? (etdp.length === 1 && values.length === 1 ? values[0] : undefined);
}

const left = (file: File, why: string, hint: string, code: ErrorCode = "input"): Error =>
  fault(code, `${file.name} was left out: ${why}`, hint);

/** The latest profile once more, with values or a record that came later. */
async function again(extra: Partial<InspectorFiles>): Promise<boolean> {
  const last = app.profiles.value.at(-1);
  const own = last && files.get(last.id);
  if (!own) return false;
  await addProfile(last.title, { ...own, ...extra });
  closeOnly(last.id);
  return true;
}

function closeOnly(id: number): void {
  const { value: shown } = app.profile;
  closeProfile(id);
  showProfile(shown);
}

/** Takes what was dropped; returns an error for each file that found no use. */
export async function takeRecords(given: RecordFiles): Promise<Error[]> {
  const faults: Error[] = [];
  const [record] = given.etrecord;
  const used = new Set<File>();
  for (const extra of given.etrecord.slice(1))
    faults.push(left(extra, "a program has one record", "Open it on its own."));
  if (record) {
    handles.record = record;
    if (app.document.value?.kind !== "pt2") await showStages(record);
  }
  for (const dump of given.etdp) {
    const values = valuesOf(dump, given);
    if (values) used.add(values);
    await addProfile(dump.name, await dumpFiles(dump, values));
  }
  if (given.etdp.length === 0 && record) await again({ etrecord: record });
  for (const values of given.values.filter((file) => !used.has(file))) {
    const isTaken = given.etdp.length === 0 && (await again({ debugBuffer: values }));
    if (!isTaken)
      faults.push(left(values, "no dump refers to it", "Drop it together with its .etdp."));
  }
  if (given.etdp.length > 0 || app.profiles.value.length > 0) {
    app.step.value = "run";
    app.views.value = { ...app.views.value, run: "profile" };
  } else if (app.document.value?.kind === "record") {
    app.step.value = app.steps.value.edge.status === "done" ? "edge" : "source";
    app.views.value = { ...app.views.value, [app.step.value]: "graph" };
  }
  return faults;
}

/**
 * The record of the program that is open: the one that was dropped, or that lowering has kept. Its
 * reference is computed on `inputs`, where some are given.
 */
async function currentRecord(inputs?: readonly Value[]): Promise<Blob | null> {
  const { record, lowered } = handles;
  if (record && !inputs) return record;
  if (!record && !lowered) return null;
  const kept = record ? await (await engine()).parseEtrecord(record) : await lowered!.getEtrecord();
  return using(kept, async () => {
    if (inputs) await kept.updateRepresentativeInputs(inputs);
    return kept.toBlob();
  });
}

async function dumpFiles(
  etdump: Blob,
  values: Blob | undefined,
  inputs?: readonly Value[],
): Promise<InspectorFiles> {
  const etrecord = await currentRecord(inputs);
  return {
    etdump,
    ...(etrecord ? { etrecord } : {}),
    ...(values && values.size > 0 ? { debugBuffer: values } : {}),
  };
}

// --- Stages of a record ------------------------------------------------------------------------------

const STAGE_STEPS: Readonly<Record<string, (typeof DIALECTS)[number]["name"]>> = {
  exported_program: "source",
  edge_dialect_exported_program: "edge",
};

/** Stages that the page has steps for, by their program numbers. */
function stagesOf(stages: readonly RecordStage[]): string[] {
  return Object.keys(STAGE_STEPS).filter((name) => stages.some(({ stage }) => stage === name));
}

/** What is in a record, told as what a compilation has made. */
function reportOf(stages: readonly RecordStage[]): CompilationReport {
  return {
    stages: stagesOf(stages).map((name, program) => ({
      program,
      stage: STAGE_STEPS[name]!,
      ms: 0,
      emitMs: 0,
      timings: [],
      methods: stages
        .filter(({ stage }) => stage === name)
        .map(({ method, ops, nodes }) => ({
          name: method,
          inputs: [],
          outputs: [],
          ops,
          nodes,
          symbols: [],
        })),
    })),
    constantBytes: 0,
    plans: [],
    outputs: [],
    diagnostics: [],
    heapBytes: 0,
  };
}

/** Shows the stages of a record as steps of the program that came with it. */
async function showStages(etrecord: Blob): Promise<void> {
  const inspector = await (await engine()).inspector({ etrecord });
  const { etrecord: told } = await inspector.report();
  const stages = told?.stages ?? [];
  const names = stagesOf(stages);
  void handles.opened?.dispose();
  handles.opened = {
    nodes: (program, method) => inspector.nodes(names[program]!, method),
    text: (program, method) => inspector.text(names[program]!, method),
    dispose: () => inspector.dispose(),
  };
  app.report.value = reportOf(stages);
  app.canLook.value = true;
  for (const name of names) setStep(STAGE_STEPS[name]!, { status: "done" });
  if (!app.method.value) app.method.value = stages[0]?.method ?? "";
}

// --- Recording here ----------------------------------------------------------------------------------

/** Runs that a profile is made of: of quick methods more, for what clocks are too coarse for. */
const RUNS = { least: 10, most: 100, ms: 50 };

const dumped = (bytes: Uint8Array): Blob => new Blob([bytes as BlobPart]);

async function record(
  task: Task,
  name: string,
  isWithValues: boolean,
): Promise<{ files: InspectorFiles; runs: number }> {
  const fillings = fillingsOf(name);
  if (!fillings) throw fault("input", "the inputs cannot be made", "Look at the fields of Call.");
  const values = await ask("make", [fillings], task.signal);
  // Values are only all there where loading has merged nothing.
  const program = isWithValues ? await unmerged() : await loadedProgram();
  const events = isWithValues ? "intermediates" : true;
  try {
    const begin = performance.now();
    const isEnough = (runs: number): boolean =>
      isWithValues || (runs >= RUNS.least && performance.now() - begin > RUNS.ms);
    let runs = 0;
    do {
      await program.run(name, values, { ...task.options(), events });
      runs++;
    } while (runs < RUNS.most && !isEnough(runs) && task.isCurrent());
    const dump = await program.etdump();
    const inputs = isWithValues ? values : undefined;
    const made = await dumpFiles(dumped(dump.etdump), dumped(dump.debugBuffer), inputs);
    return { files: made, runs };
  } finally {
    if (isWithValues) void program.dispose();
  }
}

async function unmerged(): ReturnType<typeof loadedProgram> {
  const { pte, data } = handles;
  if (!pte) throw fault("state", "there is no program to run yet", "Lower a model first.");
  const dataFiles = data.map(({ blob }) => blob);
  return (await engine()).load(pte, { dataFiles, optimize: false });
}

/** Where a task of this step goes on afterwards. */
const RUN: StepId = "run";

async function recorded(what: string, isWithValues: boolean): Promise<void> {
  const name = app.method.value;
  // Both would write the same state.
  stopStory();
  await runTask(async (task) => {
    task.at(RUN, what);
    const { files: made, runs } = await record(task, name, isWithValues);
    if (!task.isCurrent()) return;
    const kind = isWithValues ? "values" : `${runs} runs`;
    const told = await addProfile(`${name}, ${kind} (${count + 1})`, made);
    setStep(RUN, { status: "done" });
    note(`recorded ${kind} of ${name}`);
    if (isWithValues && !told.canCompare)
      throw fault(
        "state",
        "there is no record to compare the values with",
        "Drop the .etrecord that was made together with the program.",
      );
  });
}

/** Runs the method several times and shows where the time went. */
export const profileHere = (): Promise<void> => recorded(`Profiling ${app.method.value}`, false);

/** Runs the method once, keeps all values, and shows how far they are from the reference. */
export const compareHere = (): Promise<void> =>
  recorded(`Comparing ${app.method.value} with its record`, true);
