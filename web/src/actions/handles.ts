// What lives in the worker for the document that is open, and its file, which outlives the worker.
import type { OpenedPrograms, Program, Remote } from "@sconce/types.js";
import { app } from "../state.js";
import { engine, onEngineLost } from "./engine.js";
import { fault } from "./problems.js";

export const handles: {
  /** Shows the nodes and the text of every stage. */
  opened: Remote<OpenedPrograms> | null;
  program: Remote<Program> | null;
  pte: Blob | null;
  /** .ptd files that the .pte needs. */
  data: readonly { name: string; blob: Blob }[];
} = { opened: null, program: null, pte: null, data: [] };

onEngineLost(() => {
  app.canLook.value = false;
  handles.opened = handles.program = null;
});

/** Lets go of everything that belongs to the document. */
export function release(): void {
  void handles.program?.dispose();
  void handles.opened?.dispose();
  handles.program = handles.opened = handles.pte = null;
  handles.data = [];
}

/** The program in the worker; loaded again when the worker was ended in between. */
export async function loadedProgram(): Promise<Remote<Program>> {
  if (handles.program) return handles.program;
  if (!handles.pte) throw fault("state", "there is no program to run yet", "Lower a model first.");
  const client = await engine();
  return (handles.program = await client.load(handles.pte, {
    dataFiles: handles.data.map(({ blob }) => blob),
  }));
}
