// From files to a program that is ready to run, step by step; and saving it.
import type { Signal } from "@preact/signals";
import { chosenFor } from "@sconce/call/options.js";
import { DIALECTS } from "@sconce/border/steps.gen.js";
import type {
  CompilationReport,
  EdgeProgramManager,
  ExecutorchProgramManager,
  OpenedPrograms,
  ProgramReport,
  Programs,
  Remote,
  Source,
} from "@sconce/types/index.js";
import { versionOf } from "../derived.js";
import { app, clearDocument, setStep, type Document, type TokenizerFiles } from "../state.js";
import { takeCases } from "./cases.js";
import { engine, isCancelled } from "./engine.js";
import { checkRoom, download, memoryFaults, stemOf } from "./files.js";
import { handles, loadedProgram, release, using, type Files } from "./handles.js";
import { pictures } from "./pictures.js";
import { runTask, type Task } from "./task.js";
import { note, report, showWarnings, warn } from "./problems.js";
import { forgetProfiles } from "./profiles.js";
import { makeForms } from "./run.js";
import { defaultSettings, fetchSample } from "./samples.js";
import { isDelegated, isQuantized, parseConstants, withNames } from "./settings.js";
import { forgetTalk, showTalk } from "./talking.js";

export function programsOf(document: Document): Programs {
  const { files } = document;
  if (files.length === 1 && files[0]!.method === "") return files[0]!.file;
  return Object.fromEntries(files.map(({ method, file }) => [method, file as Source]));
}

async function readSource(task: Task, document: Document): Promise<void> {
  task.at("source", `Reading ${document.title}`);
  const client = await engine();
  if (!task.isCurrent()) return;
  const opened = await client.open(programsOf(document), task.options());
  if (!task.isCurrent()) return void opened.dispose();
  handles.opened = handles.programs = opened;
  const report = await opened.inspect();
  if (!task.isCurrent()) return;
  app.canLook.value = true;
  app.report.value = report;
  const { ms, methods } = report.stages[0]!;
  const bytes = document.files.reduce((sum, { file }) => sum + file.size, 0);
  setStep("source", { status: "done", ms, bytes });
  app.method.value = methods[0]?.name ?? "";
}

function showEdge(report: CompilationReport): void {
  app.report.value = report;
  for (const id of ["core", "edge"] as const)
    setStep(id, { status: "done", ms: versionOf(report, id)!.ms });
}

/** Shows what a call gives. False when another task has taken over meanwhile. */
async function show<T>(task: Task, place: Signal<T>, call: Promise<T>): Promise<boolean> {
  const given = await call;
  if (task.isCurrent()) place.value = given;
  return task.isCurrent();
}

async function showDelegation(
  task: Task,
  report: CompilationReport,
  edge: Remote<EdgeProgramManager>,
): Promise<void> {
  if (!(await show(task, app.delegation, edge.delegation()))) return;
  setStep("delegated", { status: "done", ms: versionOf(report, "delegated")!.ms });
}

/** The files that came out, as Blobs: they outlive the worker. */
export async function filesOf(
  task: Task,
  lowered: Remote<ExecutorchProgramManager>,
): Promise<Files> {
  const pte = await checkRoom(await lowered.toBlob(undefined, task.options()));
  const takeData = async ({ name }: { name: string }): Promise<{ name: string; blob: Blob }> => ({
    name,
    blob: await checkRoom(await lowered.toBlob(name, task.options())),
  });
  const data = await Promise.all(lowered.dataFiles.map(takeData));
  return { pte, data };
}

async function showProgram(
  task: Task,
  document: Document,
  lowered: Remote<ExecutorchProgramManager>,
): Promise<void> {
  if (!(await show(task, app.report, lowered.inspect()))) return;
  const report = app.report.value!;
  showWarnings(report.diagnostics, "executorch");
  const { ms, emitMs } = versionOf(report, "executorch")!;
  setStep("executorch", { status: "done", ms: ms - emitMs });
  task.at("program", "Writing the program");
  const files = await filesOf(task, lowered);
  if (!task.isCurrent()) return;
  Object.assign(handles, files);
  app.programBytes.value = lowered.size;
  setStep("program", { status: "done", ms: emitMs, bytes: lowered.size });
  app.lowerMs.value = report.stages.reduce((sum, item) => sum + item.ms, 0);
  note(
    `lowered ${document.title} in ${app.lowerMs.value.toFixed(1)} ms, ${app.programBytes.value} bytes`,
  );
}

/** Compares what backends made with the kernels. A program that cannot be compared is still one. */
async function verify(task: Task, lowered: Remote<ExecutorchProgramManager>): Promise<void> {
  task.at("executorch", "Comparing delegates with the kernels");
  try {
    await show(task, app.verification, lowered.verify(task.options()));
  } catch (error) {
    if (isCancelled(error) || !task.isCurrent()) throw error;
    report(error, "delegated");
  }
}

async function toExecutorch(
  task: Task,
  document: Document,
  edge: Remote<EdgeProgramManager>,
): Promise<void> {
  task.at("executorch", "Planning memory and writing the program");
  const lowered = await edge.toExecutorch({
    ...chosenFor("toExecutorch", document.settings.options),
    ...task.options(),
  });
  if (!task.isCurrent()) return void lowered.dispose();
  handles.lowered = lowered;
  app.recordName.value = `${document.title}, lowered here`;
  if (isDelegated(document) && document.settings.verifies) await verify(task, lowered);
  if (task.isCurrent()) await showProgram(task, document, lowered);
}

/** To the edge program, and on to the one whose parts went to backends where some were chosen. */
export function edgeOf(
  task: Task,
  { settings }: Document,
  opened: Remote<OpenedPrograms>,
  isKept: boolean,
): Promise<Remote<EdgeProgramManager>> {
  const { options, constants, backends } = settings;
  const all = {
    ...task.options(),
    compileConfig: { ...chosenFor("toEdge", options), snapshots: isKept },
    constantMethods: parseConstants(constants),
    generateEtrecord: isKept,
  };
  if (Object.keys(backends).length === 0) return opened.toEdge(all);
  const delegating = { ...all, ...chosenFor("toBackend", options), partitioner: backends };
  return opened.toEdgeTransformAndLower(delegating);
}

/** The same, where what a failure leaves is shown. */
async function toEdge(
  task: Task,
  document: Document,
  opened: Remote<OpenedPrograms>,
): Promise<Remote<EdgeProgramManager>> {
  const edge = edgeOf(task, document, opened, true);
  if (!isDelegated(document)) return edge;
  try {
    return await edge;
  } catch (error) {
    if (!isCancelled(error)) await showReached(task, opened);
    throw error;
  }
}

/** How far it came before a backend failed: the edge program is there to be looked at. */
async function showReached(task: Task, opened: Remote<OpenedPrograms>): Promise<void> {
  const report = await opened.inspect().catch(() => null);
  if (!task.isCurrent() || !versionOf(report, "edge")) return;
  showEdge(report!);
  task.at("delegated", "Handing parts to backends");
}

/** The programs to lower: as they were opened, or quantized if the settings say so. */
async function sourceOf(task: Task, document: Document): Promise<Remote<OpenedPrograms>> {
  if (!isQuantized(document)) return handles.programs!;
  task.at("quantized", "Quantizing");
  const { quantize } = await import("./quantize.js");
  return quantize(task, document);
}

async function lower(task: Task, document: Document): Promise<void> {
  const opened = await sourceOf(task, document);
  if (!task.isCurrent()) return;
  task.at("core", "Lowering to core ATen and the edge dialect");
  await using(await toEdge(task, document, opened), async (edge) => {
    const report = await edge.inspect();
    if (!task.isCurrent()) return;
    showEdge(report);
    if (isDelegated(document)) await showDelegation(task, report, edge);
    if (task.isCurrent()) await toExecutorch(task, document, edge);
  });
}

/** The bytes of its files, and of the planned memory of its largest method. */
function bytesOf({ methods }: ProgramReport, { data }: Pick<Files, "data">): number {
  const planned = methods.map((method) => method.plannedBytes.reduce((a, b) => a + b, 0));
  const weights = data.reduce((sum, { blob }) => sum + blob.size, app.programBytes.value);
  return weights + Math.max(0, ...planned);
}

async function load(task: Task): Promise<void> {
  task.at("run", "Loading the program");
  const program = await loadedProgram();
  if (!task.isCurrent()) return;
  const report = (app.program.value = await program.inspect());
  app.programBytes.value = handles.pte!.size;
  warn(memoryFaults(bytesOf(report, handles)));
  if (!report.methods.some((m) => m.name === app.method.value))
    app.method.value = report.methods[0]?.name ?? "";
  app.runs.value = Object.fromEntries(report.methods.map((m) => [m.name, makeForms(m)]));
  setStep("run", { status: "done" });
  if (app.document.value?.kind === "pte") await takeCases(program, () => task.isCurrent());
}

async function fetchFiles(task: Task, document: Document): Promise<Document> {
  if (document.files.length > 0 || !document.sample) return document;
  task.at("source", `Fetching ${document.title}`);
  return { ...document, ...(await fetchSample(document.sample)) };
}

/** Ends what is done with the document that is open, and gives everything of it back. */
export function closeDocument(): void {
  forgetTalk();
  pictures.forget();
  release();
  forgetProfiles();
  clearDocument();
  app.document.value = null;
}

/** Puts a document in the place of the one that is open. */
function replaceDocument(document: Document): void {
  // Lowering again begins another conversation with the same settings.
  const isSame = app.document.value?.files[0]?.file === document.files[0]?.file;
  const { draft, settings } = app.talk.value;
  closeDocument();
  if (isSame) app.talk.value = { ...app.talk.value, draft, settings };
  app.document.value = { ...document, isEdited: false };
  if (isDelegated(document)) setStep("delegated", { status: "idle" });
  else if (app.step.value === "delegated") app.step.value = "edge";
  if (isQuantized(document)) setStep("quantized", { status: "idle" });
  else if (app.step.value === "quantized") app.step.value = "source";
}

/** Lowers the files of a document from the start. True when a program came out. */
export async function lowerDocument(asked: Document): Promise<boolean> {
  let isDone = false;
  replaceDocument(asked);
  await runTask(async (task) => {
    const document = await fetchFiles(task, asked);
    if (!task.isCurrent()) return;
    app.document.value = { ...document, isEdited: false };
    await readSource(task, document);
    if (task.isCurrent()) await lower(task, document);
    if (task.isCurrent()) await load(task);
    isDone = task.isCurrent();
  });
  return isDone;
}

/** Opens records that come without a program: there is nothing to run, only to look at. */
export function openRecords(title: string): void {
  const settings = defaultSettings();
  replaceDocument({ title, kind: "record", files: [], settings, isEdited: false });
  for (const { name } of DIALECTS) setStep(name, { status: "absent" });
  setStep("program", { status: "absent" });
  app.step.value = "run";
}

/** Opens a .pte: there is nothing to lower, only to look at and to run. True when it was loaded. */
export async function openProgram(
  pte: File,
  data: readonly File[],
  tokenizer: TokenizerFiles | undefined,
): Promise<boolean> {
  let isDone = false;
  replaceDocument({
    title: pte.name,
    kind: "pte",
    files: [{ method: "", fileName: pte.name, file: pte }],
    ...(tokenizer && { tokenizer }),
    settings: defaultSettings(),
    isEdited: false,
  });
  for (const { name } of DIALECTS) setStep(name, { status: "absent" });
  app.step.value = "program";
  handles.pte = pte;
  handles.data = data.map((blob) => ({ name: blob.name, blob }));
  await runTask(async (task) => {
    task.at("program", `Loading ${pte.name}`);
    await loadedProgram();
    if (!task.isCurrent()) return;
    setStep("program", { status: "done", bytes: pte.size });
    await load(task);
    isDone = task.isCurrent();
  });
  return isDone;
}

/**
 * Lowers, and shows a quantized program side by side with the float program at once. A language model
 * is talked with first, because lowering it twice takes long.
 */
async function lowerAndCompare(document: Document): Promise<void> {
  if (!(await lowerDocument(document)) || !app.quantization.value) return;
  if (document.tokenizer && !document.sample) return showTalk();
  app.step.value = "quantized";
  const { compareBoth } = await import("./compared.js");
  await compareBoth();
}

export function lowerAgain(): void {
  if (app.document.value?.kind === "pt2") void lowerAndCompare(withNames(app.document.value));
}

/** The kind of the program's file: one with cases is saved with them. */
const fileKind = (): string => (app.cases.value.list.length > 0 ? "bpte" : "pte");

/** Saves the .pte, and its .ptd files where weights are external. */
export function save(): void {
  if (!handles.pte || !app.document.value) return;
  const stem = stemOf(app.document.value);
  const name = `${stem}.${fileKind()}`;
  download(handles.pte, name);
  for (const data of handles.data) download(data.blob, data.name);
  note(`saved ${name}`);
}
