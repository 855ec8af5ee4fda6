// Quantizing what was opened: a session of the engine calibrates it on the inputs that were given, or
// on those of the files, and compares it with the float program.
import { isCalibrated } from "@sconce/recipe/quantize/config.js";
import { chosenFor } from "@sconce/call/options.js";
import type {
  ExportOptions,
  ExportSession,
  OpenedPrograms,
  Remote,
  Value,
} from "@sconce/types/index.js";
import { versionOf } from "../derived.js";
import { app, setStep, type Document, type Quantizing } from "../state.js";
import { callsOf } from "./calibration.js";
import { engine, isCancelled } from "./engine.js";
import { handles } from "./handles.js";
import { programsOf } from "./lower.js";
import { fault, note, showWarnings } from "./problems.js";
import { quantizationFor } from "./recipes.js";
import type { Task } from "./task.js";

/** Something has to show the ranges of every method that is calibrated. */
async function checkExamples(methods: readonly string[], calls: object): Promise<void> {
  for (const method of methods) {
    if (Object.hasOwn(calls, method)) continue;
    const found = await handles.programs!.exampleInputs(method);
    if (found) continue;
    throw fault(
      "input",
      `method '${method}' has no data to calibrate on: its file has no example inputs`,
      "Drop .npy files of its inputs on Calibration, in the lowering settings.",
    );
  }
}

async function optionsOf({ settings }: Document): Promise<ExportOptions> {
  const { quantizing, options } = settings;
  const quantizationRecipe = quantizationFor(quantizing);
  const exampleInputs = callsOf(quantizing);
  if (isCalibrated(quantizationRecipe))
    await checkExamples(handles.programs!.methods, exampleInputs);
  return {
    name: quantizing.recipe,
    exampleInputs,
    sensitivity: quantizing.compares,
    recipe: {
      name: quantizing.recipe,
      quantizationRecipe,
      loweringRecipe: { edgeCompileConfig: chosenFor("toEdge", options) },
      pipelineStages: ["quantize"],
    },
  };
}

/** The first call of each method, as far as there is one: of the calibration, or of the file. */
async function examplesOf(
  session: Remote<ExportSession>,
  methods: readonly string[],
): Promise<Map<string, readonly Value[]>> {
  const found = new Map<string, readonly Value[]>();
  for (const method of methods) {
    const call = await session.getExampleInput(method).catch((error: unknown) => {
      if (isCancelled(error)) throw error;
      return null;
    });
    if (call) found.set(method, call);
  }
  return found;
}

async function run(task: Task, document: Document): Promise<Remote<ExportSession>> {
  const client = await engine();
  const session = await client.createExportSession(programsOf(document), await optionsOf(document));
  try {
    await session.run(task.options());
    return session;
  } catch (error) {
    void session.dispose();
    throw error;
  }
}

async function show(
  opened: Remote<OpenedPrograms>,
  session: Remote<ExportSession>,
  settings: Quantizing,
): Promise<void> {
  const report = await opened.inspect();
  const quantized = await session.quantizationReport();
  if (handles.session !== session) return;
  app.report.value = report;
  showWarnings(report.diagnostics, "quantized");
  app.quantization.value = quantized && { report: quantized, settings };
  const { ms } = versionOf(report, "quantized")!;
  setStep("quantized", { status: "done", ms });
  note(`quantized with ${session.name}`);
}

/** The quantized programs, to be lowered; they are shown from here on. */
export async function quantize(task: Task, document: Document): Promise<Remote<OpenedPrograms>> {
  const session = await run(task, document);
  const opened = await session.getOpenedPrograms();
  if (!task.isCurrent()) {
    void session.dispose();
    return opened;
  }
  // The opened programs stay: the float program is made from them.
  handles.session = session;
  handles.opened = opened;
  handles.quantized = { document, examples: await examplesOf(session, opened.methods) };
  if (task.isCurrent()) await show(opened, session, document.settings.quantizing);
  return opened;
}
