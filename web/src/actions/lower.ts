// From files to a program that is ready to run, step by step; and saving it.
import type {
  EdgeProgramManager,
  ExecutorchProgramManager,
  Programs,
  Remote,
  Source,
} from "@sconce/types.js";
import { stageOf } from "../derived.js";
import { app, clearDocument, setStep, type Document } from "../state.js";
import { engine } from "./engine.js";
import { forgetPicture } from "./face.js";
import { download } from "./files.js";
import { handles, loadedProgram, release, using } from "./handles.js";
import { runJob, type Job } from "./job.js";
import { note } from "./problems.js";
import { makeForms } from "./run.js";
import { defaultSettings, fetchSample } from "./samples.js";
import { parseConstants } from "./settings.js";
import { stopStory } from "./story.js";

function programsOf(document: Document): Programs {
  const { files } = document;
  if (files.length === 1 && files[0]!.method === "") return files[0]!.file;
  return Object.fromEntries(files.map(({ method, file }) => [method, file as Source]));
}

async function readSource(job: Job, document: Document): Promise<void> {
  job.at("source", `Reading ${document.title}`);
  const client = await engine();
  if (!job.isCurrent()) return;
  const opened = await client.open(programsOf(document), job.options());
  if (!job.isCurrent()) return void opened.dispose();
  handles.opened = opened;
  const report = await opened.inspect();
  if (!job.isCurrent()) return;
  app.canLook.value = true;
  app.report.value = report;
  const { ms, methods } = report.stages[0]!;
  const bytes = document.files.reduce((sum, { file }) => sum + file.size, 0);
  setStep("source", { status: "done", ms, bytes });
  app.method.value = methods[0]?.name ?? "";
}

async function showEdge(job: Job, edge: Remote<EdgeProgramManager>): Promise<void> {
  const report = await edge.inspect();
  if (!job.isCurrent()) return;
  app.report.value = report;
  for (const step of ["core", "edge"] as const)
    setStep(step, { status: "done", ms: stageOf(report, step)!.ms });
}

/** The files that came out, as Blobs: they outlive the worker. */
async function takeFiles(job: Job, lowered: Remote<ExecutorchProgramManager>): Promise<void> {
  const pte = await lowered.toBlob();
  const takeData = async ({ name }: { name: string }): Promise<{ name: string; blob: Blob }> => ({
    name,
    blob: new Blob([(await lowered.dataFile(name)) as BlobPart]),
  });
  const data = await Promise.all(lowered.dataFiles.map(takeData));
  if (job.isCurrent()) Object.assign(handles, { pte, data });
}

async function showProgram(
  job: Job,
  document: Document,
  lowered: Remote<ExecutorchProgramManager>,
): Promise<void> {
  const report = await lowered.inspect();
  if (!job.isCurrent()) return;
  app.report.value = report;
  const { ms, emitMs } = stageOf(report, "planned")!;
  setStep("planned", { status: "done", ms: ms - emitMs });
  await takeFiles(job, lowered);
  if (!job.isCurrent()) return;
  app.programBytes.value = lowered.size;
  setStep("program", { status: "done", ms: emitMs, bytes: lowered.size });
  app.lowerMs.value = report.stages.reduce((sum, item) => sum + item.ms, 0);
  note(
    `lowered ${document.title} in ${app.lowerMs.value.toFixed(1)} ms, ${app.programBytes.value} bytes`,
  );
}

async function toExecutorch(
  job: Job,
  document: Document,
  edge: Remote<EdgeProgramManager>,
): Promise<void> {
  await showEdge(job, edge);
  if (!job.isCurrent()) return;
  job.at("planned", "Planning memory and writing the program");
  const { shareState, externalConstants, memoryPlanning } = document.settings;
  const lowered = await edge.toExecutorch({
    ...job.options(),
    shareMutableBuffers: shareState,
    externalConstants,
    memoryPlanning,
  });
  await using(lowered, () => showProgram(job, document, lowered));
}

async function lower(job: Job, document: Document): Promise<void> {
  job.at("core", "Lowering to core ATen and the edge dialect");
  const edge = await handles.opened!.toEdge({
    ...job.options(),
    compileConfig: { snapshots: true },
    constantMethods: parseConstants(document.settings.constants),
  });
  await using(edge, () => toExecutorch(job, document, edge));
}

async function load(job: Job): Promise<void> {
  job.at("run", "Loading the program");
  const program = await loadedProgram();
  if (!job.isCurrent()) return;
  const report = (app.program.value = await program.inspect());
  app.programBytes.value = handles.pte!.size;
  if (!report.methods.some((m) => m.name === app.method.value))
    app.method.value = report.methods[0]?.name ?? "";
  app.runs.value = Object.fromEntries(report.methods.map((m) => [m.name, makeForms(m)]));
  setStep("run", { status: "done" });
}

async function fetchFiles(job: Job, document: Document): Promise<Document> {
  if (document.files.length > 0 || !document.sample) return document;
  job.at("source", `Fetching ${document.title}`);
  const files = await fetchSample(document.sample);
  return { ...document, files };
}

/** Ends what is done with the document that is open, and gives everything of it back. */
export function closeDocument(): void {
  stopStory();
  forgetPicture();
  release();
  clearDocument();
  app.document.value = null;
}

/** Puts a document in the place of the one that is open. */
function replaceDocument(document: Document): void {
  closeDocument();
  app.document.value = { ...document, isEdited: false };
}

/** Lowers the files of a document from the start. True when a program came out. */
export async function lowerDocument(asked: Document): Promise<boolean> {
  let isDone = false;
  replaceDocument(asked);
  await runJob(async (job) => {
    const document = await fetchFiles(job, asked);
    if (!job.isCurrent()) return;
    app.document.value = { ...document, isEdited: false };
    await readSource(job, document);
    if (job.isCurrent()) await lower(job, document);
    if (job.isCurrent()) await load(job);
    isDone = job.isCurrent();
  });
  return isDone;
}

/** Opens a .pte: there is nothing to lower, only to look at and to run. True when it was loaded. */
export async function openProgram(pte: File, data: readonly File[]): Promise<boolean> {
  let isDone = false;
  replaceDocument({
    title: pte.name,
    kind: "pte",
    files: [{ method: "", fileName: pte.name, file: pte }],
    settings: defaultSettings(),
    isEdited: false,
  });
  for (const id of ["source", "core", "edge", "planned"] as const)
    setStep(id, { status: "absent" });
  app.step.value = "program";
  handles.pte = pte;
  handles.data = data.map((blob) => ({ name: blob.name, blob }));
  await runJob(async (job) => {
    job.at("program", `Loading ${pte.name}`);
    await loadedProgram();
    if (!job.isCurrent()) return;
    setStep("program", { status: "done", bytes: pte.size });
    await load(job);
    isDone = job.isCurrent();
  });
  return isDone;
}

export function lowerAgain(): void {
  if (app.document.value?.kind === "pt2") void lowerDocument(app.document.value);
}

/** Saves the .pte, and its .ptd files where weights are external. */
export function save(): void {
  if (!handles.pte || !app.document.value) return;
  // Letters of every language stay; what some file system refuses does not.
  const stem = app.document.value.title
    .replace(/\.(pt2|pte)$/i, "")
    .replace(/[^\p{L}\p{N}_-]+/gu, "_");
  download(handles.pte, `${stem}.pte`);
  for (const { name, blob } of handles.data) download(blob, name);
  note(`saved ${stem}.pte`);
}
