// Objects in the worker for the document that is open, and its file, which outlives the worker.
import type {
  ExecutorchProgramManager,
  ExportSession,
  OpenedPrograms,
  Program,
  Remote,
  Value,
} from "@sconce/types/index.js";
import { app, type Document } from "../state.js";
import { engine, onEngineLost } from "./engine.js";
import { fault } from "./problems.js";

/** A source of versions of a program: files that were opened, or a record. */
export type Lookable = Pick<Remote<OpenedPrograms>, "nodes" | "text" | "dispose">;

/** A program and the .ptd files that it needs. */
export interface Files {
  pte: Blob;
  data: readonly { name: string; blob: Blob }[];
}

export const handles: {
  /** Shows the nodes and the text of every version. */
  opened: Lookable | null;
  /** The same of files that can be lowered. */
  programs: Remote<OpenedPrograms> | null;
  /** Quantizes, and keeps the result. */
  session: Remote<ExportSession> | null;
  /** Has the record of what was lowered. */
  lowered: Remote<ExecutorchProgramManager> | null;
  program: Remote<Program> | null;
  pte: Blob | null;
  /** .ptd files that the .pte needs. */
  data: readonly { name: string; blob: Blob }[];
  /** The document as it was quantized, and the first call of each method. */
  quantized: { document: Document; examples: ReadonlyMap<string, readonly Value[]> } | null;
  /** The float program that a quantized one is compared with. */
  float: Files | null;
  floatProgram: Remote<Program> | null;
  /** The .etrecord that was dropped: what was lowered to the program. */
  record: Blob | null;
} = {
  opened: null,
  programs: null,
  session: null,
  lowered: null,
  program: null,
  pte: null,
  data: [],
  quantized: null,
  float: null,
  floatProgram: null,
  record: null,
};

onEngineLost(() => {
  app.canLook.value = false;
  handles.opened = handles.programs = handles.session = null;
  handles.lowered = handles.program = handles.floatProgram = null;
});

/** Lets go of everything that belongs to the document. */
export function release(): void {
  void handles.program?.dispose();
  void handles.lowered?.dispose();
  void handles.opened?.dispose();
  if (handles.programs !== handles.opened) void handles.programs?.dispose();
  void handles.session?.dispose();
  handles.program = handles.lowered = handles.session = handles.programs = handles.opened = null;
  void handles.floatProgram?.dispose();
  handles.floatProgram = handles.float = handles.quantized = null;
  handles.pte = handles.record = null;
  handles.data = [];
}

/** Uses an object of the worker's and frees its memory, even if that fails. */
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

/** Loads files into the worker. */
export async function loadFiles({ pte, data }: Files): Promise<Remote<Program>> {
  return (await engine()).load(pte, { dataFiles: data.map(({ blob }) => blob) });
}

/** The program in the worker; loaded again when the worker was ended in between. */
export async function loadedProgram(): Promise<Remote<Program>> {
  if (handles.program) return handles.program;
  const { pte, data } = handles;
  if (!pte) throw fault("state", "there is no program to run yet", "Lower a model first.");
  const program = await loadFiles({ pte, data });
  // Meanwhile another document may have been opened, or another call have loaded this one.
  if (handles.pte === pte && !handles.program) return (handles.program = program);
  void program.dispose();
  if (handles.pte === pte && handles.program) return handles.program;
  throw fault("cancelled", "another model was opened", "Start again when ready.");
}
