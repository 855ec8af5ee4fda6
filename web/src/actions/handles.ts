// What lives in the worker for the document that is open, and its file, which outlives the worker.
import type { ExecutorchProgramManager, OpenedPrograms, Program, Remote } from "@sconce/types.js";
import { app } from "../state.js";
import { engine, onEngineLost } from "./engine.js";
import { fault } from "./problems.js";

/** What shows versions of a program: files that were opened, or a record. */
export type Lookable = Pick<Remote<OpenedPrograms>, "nodes" | "text" | "dispose">;

export const handles: {
  /** Shows the nodes and the text of every version. */
  opened: Lookable | null;
  /** The same of files that can be lowered. */
  programs: Remote<OpenedPrograms> | null;
  /** Has the record of what was lowered. */
  lowered: Remote<ExecutorchProgramManager> | null;
  program: Remote<Program> | null;
  pte: Blob | null;
  /** .ptd files that the .pte needs. */
  data: readonly { name: string; blob: Blob }[];
  /** The .etrecord that was dropped: what was lowered to the program. */
  record: Blob | null;
} = {
  opened: null,
  programs: null,
  lowered: null,
  program: null,
  pte: null,
  data: [],
  record: null,
};

onEngineLost(() => {
  app.canLook.value = false;
  handles.opened = handles.programs = handles.lowered = handles.program = null;
});

/** Lets go of everything that belongs to the document. */
export function release(): void {
  void handles.program?.dispose();
  void handles.lowered?.dispose();
  void handles.opened?.dispose();
  handles.program = handles.lowered = handles.programs = handles.opened = null;
  handles.pte = handles.record = null;
  handles.data = [];
}

/** Uses something of the worker's and gives its memory back, whatever comes of it. */
export async function using<T extends { dispose(): Promise<void> }, R>(
  handle: T,
  use: (handle: T) => Promise<R>,
): Promise<R> {
  try {
    return await use(handle);
  } finally {
    void handle.dispose();
  }
}

/** The program in the worker; loaded again when the worker was ended in between. */
export async function loadedProgram(): Promise<Remote<Program>> {
  if (handles.program) return handles.program;
  const { pte, data } = handles;
  if (!pte) throw fault("state", "there is no program to run yet", "Lower a model first.");
  const client = await engine();
  const program = await client.load(pte, { dataFiles: data.map(({ blob }) => blob) });
  // Meanwhile another document may have been opened, or another call have loaded this one.
  if (handles.pte === pte && !handles.program) return (handles.program = program);
  void program.dispose();
  if (handles.pte === pte && handles.program) return handles.program;
  throw fault("cancelled", "another model was opened", "Start again when ready.");
}
