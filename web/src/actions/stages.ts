// The graphs that a record holds, as steps of the program that came with it.
import { DIALECTS } from "@sconce/border/steps.gen.js";
import type { CompilationReport, Inspector, RecordStage, Remote } from "@sconce/types/index.js";
import { app, setStep } from "../state.js";
import { handles } from "./handles.js";

const STAGE_STEPS: Readonly<Record<string, (typeof DIALECTS)[number]["name"]>> = {
  exported_program: "source",
  edge_dialect_exported_program: "edge",
};

/** Stages that the page has steps for, by their program numbers. */
function stagesOf(stages: readonly RecordStage[]): string[] {
  return Object.keys(STAGE_STEPS).filter((name) => stages.some(({ stage }) => stage === name));
}

/** The contents of a record in the form of a compilation's report. */
function reportOf(stages: readonly RecordStage[]): CompilationReport {
  return {
    stages: stagesOf(stages).map((stage, program) => ({
      program,
      stage: STAGE_STEPS[stage]!,
      ms: 0,
      emitMs: 0,
      timings: [],
      from: program,
      diagnostics: [],
      methods: stages
        .filter((one) => one.stage === stage)
        .map(({ method: name, inputs, outputs, ops, nodes }) => ({
          name,
          inputs,
          outputs,
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

/** Lets go of the graphs of another record. */
function forgetStages(): void {
  app.report.value = null;
  app.rows.value = app.lines.value = app.scenes.value = new Map();
  app.node.value = app.box.value = "";
  for (const name of Object.values(STAGE_STEPS)) setStep(name, { status: "absent" });
}

/** Shows the stages of a record as steps of the program that came with it. */
export function showStages(inspector: Remote<Inspector>, stages: readonly RecordStage[]): void {
  const names = stagesOf(stages);
  forgetStages();
  void handles.opened?.dispose();
  handles.opened = {
    nodes: (program, method) => inspector.nodes(names[program]!, method),
    text: (program, method) => inspector.text(names[program]!, method),
    dispose: () => inspector.dispose(),
  };
  app.report.value = reportOf(stages);
  app.canLook.value = true;
  for (const name of names) setStep(STAGE_STEPS[name]!, { status: "done" });
  if (!stages.some(({ method }) => method === app.method.value) && !app.program.value)
    app.method.value = stages[0]?.method ?? "";
}
