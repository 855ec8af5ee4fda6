// What lives in the worker for the document that is open, and its file, which outlives the worker.
import type { EdgeProgramManager, ExecutorchProgramManager, Program, Remote } from "@sconce/types.js";
import { engine, onEngineLost } from "./engine.js";
import { fault } from "./problems.js";

export const handles: {
  edge: Remote<EdgeProgramManager> | null;
  lowered: Remote<ExecutorchProgramManager> | null;
  program: Remote<Program> | null;
  pte: Blob | null;
  /** .ptd files that the .pte needs. */
  data: readonly { name: string; blob: Blob }[];
} = { edge: null, lowered: null, program: null, pte: null, data: [] };

onEngineLost(() => {
  handles.edge = handles.lowered = handles.program = null;
});

/** Lets go of everything that belongs to the document. */
export function release(): void {
  for (const name of ["program", "lowered", "edge"] as const) {
    void handles[name]?.dispose();
    handles[name] = null;
  }
  handles.pte = null;
  handles.data = [];
}

/** The program in the worker; loaded again when the worker was ended in between. */
export async function loadedProgram(): Promise<Remote<Program>> {
  if (handles.program) return handles.program;
  if (!handles.pte) throw fault("state", "there is no program to run yet", "Lower a model first.");
  const client = await engine();
  return handles.program = await client.load(handles.pte, { dataFiles: handles.data.map(({ blob }) => blob) });
}
