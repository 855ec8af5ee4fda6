// From files to a program that is ready to run, step by step; and saving it.
import type {
  ConstantValue,
  EdgeProgramManager,
  ExecutorchProgramManager,
  Programs,
  Remote,
  Source,
} from "@sconce/types.js";
import { app, clearDocument, setStep, stageOf, type Document } from "../state.js";
import { engine } from "./engine.js";
import { download } from "./files.js";
import { handles, loadedProgram, release } from "./handles.js";
import { runJob, type Job } from "./job.js";
import { fault, note } from "./problems.js";
import { makeForms } from "./run.js";
import { defaultSettings, fetchSample } from "./samples.js";

/** "get_max_seq_len = 256" a line, as constant methods. */
export function parseConstants(text: string): Record<string, ConstantValue> {
  const found: Record<string, ConstantValue> = {};
  for (const line of text
    .split("\n")
    .map((part) => part.trim())
    .filter(Boolean)) {
    const match = /^([A-Za-z_]\w*)\s*=\s*(.+)$/.exec(line);
    if (!match) {
      throw fault(
        "option",
        `'${line}' is not a constant method`,
        "Write name = value, one a line, such as get_max_seq_len = 256.",
      );
    }
    const [, name, value] = match as unknown as [string, string, string];
    try {
      found[name] = /^-?\d+\.\d*$/.test(value)
        ? { double: Number(value) }
        : (JSON.parse(value) as ConstantValue);
    } catch {
      found[name] = value;
    }
  }
  return found;
}

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
  const report = await opened.inspect();
  if (!job.isCurrent()) return;
  handles.opened = opened;
  app.canLook.value = true;
  app.report.value = report;
  const { ms, methods } = report.stages[0]!;
  const bytes = document.files.reduce((sum, { file }) => sum + file.size, 0);
  setStep("source", { status: "done", ms, bytes });
  app.method.value = methods[0]?.name ?? "";
}

async function toEdge(job: Job, document: Document): Promise<Remote<EdgeProgramManager>> {
  job.at("core", "Lowering to core ATen and the edge dialect");
  const edge = await handles.opened!.toEdge({
    ...job.options(),
    compileConfig: { snapshots: true },
    constantMethods: parseConstants(document.settings.constants),
  });
  const report = await edge.inspect();
  if (!job.isCurrent()) return edge;
  app.report.value = report;
  for (const step of ["core", "edge"] as const) {
    setStep(step, { status: "done", ms: stageOf(report, step)!.ms });
  }
  return edge;
}

/** The files that came out, as Blobs: they outlive the worker. */
async function takeFiles(lowered: Remote<ExecutorchProgramManager>): Promise<void> {
  const pte = await lowered.toBlob();
  const takeData = async ({ name }: { name: string }): Promise<{ name: string; blob: Blob }> => ({
    name,
    blob: new Blob([(await lowered.dataFile(name)) as BlobPart]),
  });
  handles.data = await Promise.all(lowered.dataFiles.map(takeData));
  handles.pte = pte;
}

async function toExecutorch(
  job: Job,
  document: Document,
  edge: Remote<EdgeProgramManager>,
): Promise<void> {
  job.at("planned", "Planning memory and writing the program");
  const { shareState, externalConstants, memoryPlanning } = document.settings;
  const lowered = await edge.toExecutorch({
    ...job.options(),
    shareMutableBuffers: shareState,
    externalConstants,
    memoryPlanning,
  });
  const report = await lowered.inspect();
  if (!job.isCurrent()) return;
  app.report.value = report;
  const { ms, emitMs } = stageOf(report, "planned")!;
  setStep("planned", { status: "done", ms: ms - emitMs });
  await takeFiles(lowered);
  const { size } = lowered;
  void lowered.dispose();
  void edge.dispose();
  app.programBytes.value = size;
  setStep("program", { status: "done", ms: emitMs, bytes: size });
  app.lowerMs.value = report.stages.reduce((sum, item) => sum + item.ms, 0);
  note(`lowered ${document.title} in ${app.lowerMs.value.toFixed(1)} ms, ${size} bytes`);
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

/** Lowers the files of a document from the start. True when a program came out. */
export async function lowerDocument(asked: Document): Promise<boolean> {
  let isDone = false;
  release();
  clearDocument();
  app.document.value = { ...asked, isEdited: false };
  await runJob(async (job) => {
    const document = await fetchFiles(job, asked);
    if (!job.isCurrent()) return;
    app.document.value = { ...document, isEdited: false };
    await readSource(job, document);
    const edge = job.isCurrent() ? await toEdge(job, document) : null;
    if (edge && job.isCurrent()) await toExecutorch(job, document, edge);
    if (job.isCurrent()) await load(job);
    isDone = job.isCurrent();
  });
  return isDone;
}

/** Opens a .pte: there is nothing to lower, only to look at and to run. */
export async function openProgram(title: string, pte: Blob, data: readonly File[]): Promise<void> {
  await runJob(async (job) => {
    release();
    clearDocument();
    app.document.value = {
      title,
      kind: "pte",
      files: [{ method: "", fileName: title, file: pte }],
      settings: defaultSettings(),
      isEdited: false,
    };
    for (const id of ["source", "core", "edge", "planned"] as const)
      setStep(id, { status: "absent" });
    app.step.value = "program";
    job.at("program", `Loading ${title}`);
    const client = await engine();
    if (!job.isCurrent()) return;
    handles.pte = pte;
    handles.data = data.map((blob) => ({ name: blob.name, blob }));
    handles.program = await client.load(pte, { ...job.options(), dataFiles: data });
    setStep("program", { status: "done", bytes: pte.size });
    await load(job);
  });
}

export function lowerAgain(): void {
  if (app.document.value?.kind === "pt2") void lowerDocument(app.document.value);
}

/** Saves the .pte, and its .ptd files where weights are external. */
export function save(): void {
  if (!handles.pte || !app.document.value) return;
  const stem = app.document.value.title.replace(/\.(pt2|pte)$/, "").replace(/[^\w-]+/g, "_");
  download(handles.pte, `${stem}.pte`);
  for (const { name, blob } of handles.data) download(blob, name);
  note(`saved ${stem}.pte`);
}
