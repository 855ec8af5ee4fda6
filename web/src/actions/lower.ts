// From files to a program that is ready to run, step by step; and saving it.
import type { Client } from "@sconce/client.js";
import type { ConstantValue, Programs, Source } from "@sconce/types.js";
import { app, clearDocument, setStep, stageOf, type Document, type StepId } from "../state.js";
import { engine } from "./engine.js";
import { download } from "./files.js";
import { handles, loadedProgram, release } from "./handles.js";
import { runJob, type Job } from "./job.js";
import { fault, note } from "./problems.js";
import { makeForms } from "./run.js";

/** "get_max_seq_len = 256" a line, as constant methods. */
export function parseConstants(text: string): Record<string, ConstantValue> {
  const found: Record<string, ConstantValue> = {};
  for (const line of text.split("\n").map((part) => part.trim()).filter(Boolean)) {
    const match = /^([A-Za-z_]\w*)\s*=\s*(.+)$/.exec(line);
    if (!match) {
      throw fault("option", `'${line}' is not a constant method`, "Write name = value, one a line, such as get_max_seq_len = 256.");
    }
    const [, name, value] = match as unknown as [string, string, string];
    try {
      found[name] = /^-?\d+\.\d*$/.test(value) ? { double: Number(value) } : JSON.parse(value) as ConstantValue;
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

async function readSource(job: Job, client: Client, document: Document): Promise<void> {
  job.at("source", `Reading ${document.title}`);
  const report = await client.inspect(programsOf(document));
  if (!job.isCurrent()) return;
  app.report.value = report;
  const { ms } = report.stages[0]!;
  const bytes = document.files.reduce((sum, { file }) => sum + file.size, 0);
  setStep("source", { status: "done", ms, nodes: nodesOf("source"), bytes });
  app.method.value = report.stages[0]!.methods[0]?.name ?? "";
}

function nodesOf(step: StepId): number {
  return stageOf(app.report.value, step)?.methods.reduce((sum, method) => sum + method.nodes, 0) ?? 0;
}

async function toEdge(job: Job, client: Client, document: Document): Promise<void> {
  job.at("core", "Lowering to core ATen and the edge dialect");
  const edge = await client.toEdge(programsOf(document), {
    ...job.options(), compileConfig: { snapshots: true },
    constantMethods: parseConstants(document.settings.constants),
  });
  if (!job.isCurrent()) return;
  handles.edge = edge;
  app.report.value = await edge.inspect();
  for (const step of ["source", "core", "edge"] as const) {
    const stage = stageOf(app.report.value, step);
    if (stage) setStep(step, { status: "done", ms: stage.ms, nodes: nodesOf(step) });
  }
}

async function toExecutorch(job: Job, document: Document): Promise<void> {
  job.at("planned", "Planning memory and writing the program");
  const { shareState, externalConstants, memoryPlanning } = document.settings;
  const lowered = await handles.edge!.toExecutorch({
    ...job.options(), shareMutableBuffers: shareState, externalConstants, memoryPlanning,
  });
  if (!job.isCurrent()) return;
  handles.lowered = lowered;
  const report = app.report.value = await lowered.inspect();
  const stage = stageOf(report, "planned")!;
  setStep("planned", {
    status: "done", ms: stage.ms - stage.emitMs, nodes: nodesOf("planned"),
    bytes: report.plans.reduce((sum, plan) => sum + plan.plannedBytes, 0),
  });
  handles.pte = await lowered.toBlob();
  handles.data = await Promise.all(lowered.dataFiles.map(async ({ name }) =>
    ({ name, blob: new Blob([await lowered.dataFile(name) as BlobPart]) })));
  app.programBytes.value = lowered.size;
  setStep("program", { status: "done", ms: stage.emitMs, bytes: lowered.size });
  app.lowerMs.value = report.stages.reduce((sum, item) => sum + item.ms, 0);
  note(`lowered ${document.title} in ${app.lowerMs.value.toFixed(1)} ms, ${lowered.size} bytes`);
}

async function load(job: Job): Promise<void> {
  job.at("run", "Loading the program");
  const program = await loadedProgram();
  if (!job.isCurrent()) return;
  const report = app.program.value = await program.inspect();
  app.programBytes.value = handles.pte!.size;
  if (!report.methods.some((m) => m.name === app.method.value)) app.method.value = report.methods[0]?.name ?? "";
  app.runs.value = Object.fromEntries(report.methods.map((m) => [m.name, makeForms(m)]));
  setStep("run", { status: "done", bytes: report.heapBytes });
}

/** Lowers the files of a document from the start. True when a program came out. */
export async function lowerDocument(document: Document): Promise<boolean> {
  let isDone = false;
  await runJob(async (job) => {
    release();
    clearDocument();
    app.document.value = { ...document, isEdited: false };
    const client = await engine();
    await readSource(job, client, document);
    if (job.isCurrent()) await toEdge(job, client, document);
    if (job.isCurrent()) await toExecutorch(job, document);
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
      title, kind: "pte", files: [{ method: "", fileName: title, file: pte }], settings: defaultSettings(), isEdited: false,
    };
    for (const id of ["source", "core", "edge", "planned"] as const) setStep(id, { status: "absent" });
    app.step.value = "program";
    job.at("program", `Loading ${title}`);
    const client = await engine();
    handles.pte = pte;
    handles.data = data.map((blob) => ({ name: blob.name, blob }));
    handles.program = await client.load(pte, { ...job.options(), dataFiles: data });
    setStep("program", { status: "done", bytes: pte.size });
    await load(job);
  });
}

export function defaultSettings(): Document["settings"] {
  return { shareState: false, externalConstants: false, memoryPlanning: "best", constants: "" };
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
