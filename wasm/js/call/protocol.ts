// The table of calls across a worker: every member of every object in one, a row each. Server and
// caller work by these rows, engine and client check options by them, and Remote leaves out what is
// local. A row that is missing does not compile.
import { checkTable, mustBe, type Kind, type OptionTable } from "../base/check.js";
import { DELEGATE_VALUES } from "./delegate_values.js";
import { gapCall } from "./gap.js";
import { accepts, isTaken, optionsOf } from "./options.js";
import { checkName, savePte, type Saved } from "../sink/saving.js";
import type {
  EdgeProgramManager,
  Engine,
  ETRecord,
  ExecutorchProgramManager,
  ExportedProgram,
  ExportSession,
  Inspector,
  FileSinks,
  LocalMember,
  OpenedPrograms,
  Program,
  Runtime,
  RuntimeProgram,
  SgdOptimizer,
  Sink,
} from "../types/index.js";

interface Interfaces {
  Engine: Engine;
  OpenedPrograms: OpenedPrograms;
  EdgeProgramManager: EdgeProgramManager;
  ExecutorchProgramManager: ExecutorchProgramManager;
  ExportedProgram: ExportedProgram;
  Program: Program;
  Runtime: Runtime;
  RuntimeProgram: RuntimeProgram;
  SgdOptimizer: SgdOptimizer;
  Inspector: Inspector;
  ETRecord: ETRecord;
  ExportSession: ExportSession;
}
/** The names of the interfaces whose objects live in a worker. */
export type ObjectKind = keyof Interfaces;

/** A row of the table: how a member of an object is reached across a worker. */
export type Member =
  /** Data that travels with the object. */
  | { readonly is: "property" }
  /** Data that costs something: a call. */
  | { readonly is: "getter" }
  | Local
  /** Writes to a sink, which stays with the caller, what the method `of` gives as a Blob. */
  | Stream
  /** Made of calls of the others, where the caller is: its arguments cannot cross. */
  | { readonly is: "derived"; readonly make: (remote: never) => (...args: never) => unknown }
  | Method;

/** Only makes sense where the object lives. */
interface Local {
  readonly is: "local";
  /** The error of calling it elsewhere; without it the member is absent there. */
  readonly why?: string;
  /** A way to the same end, for the hint. */
  readonly instead?: string;
}

interface Stream {
  readonly is: "stream";
  /** A method whose arguments are those behind the sink. */
  readonly of: string;
  readonly at: number;
  readonly options: OptionTable;
}

interface Method {
  readonly is: "method";
  /** Data is copied or moved; an object stays and is known by its number. */
  readonly gives: "data" | ObjectKind;
  /** The argument that is a source. */
  readonly source?: number;
  /** The argument that is a file or holds several: programs, a record, what an inspector opens. */
  readonly files?: number;
  /** Are few bytes of the files needed, so that large ones at addresses are read in ranges? */
  readonly peeks?: boolean;
  /** The argument that is the address of a module. */
  readonly module?: number;
  /** The argument that holds options, and which there are; files among them are sources too. */
  readonly at?: number;
  readonly options?: OptionTable;
  /** Functions among the options stay with the caller: what is asked instead, and of its answer. */
  readonly here?: (options: never) => { asked: object; finish: (answer: never) => unknown };
  /** There may be text in the place of the options, and then there are none. */
  readonly orText?: boolean;
  /** The first argument is text and may be left out. Then all others move up by one place. */
  readonly mayOmitText?: boolean;
  /** The argument that is an object of the worker, or a map of such. */
  readonly object?: number;
}

/** The members of a session in a worker that are needed here. */
interface RemoteSession {
  getExecutorchProgramManager(): Promise<Saved & { dispose(): Promise<void> }>;
  delegationText(): Promise<string>;
}

const saveRemotely =
  (session: RemoteSession) =>
  async (name: string, sink: Sink | FileSinks): Promise<string[]> => {
    checkName(name);
    const program = await session.getExecutorchProgramManager();
    return savePte(program, name, sink).finally(() => program.dispose());
  };

const printRemotely =
  (session: RemoteSession) =>
  async (print: (text: string) => void = console.log): Promise<void> => {
    mustBe("function", "what printDelegationInfo() prints with", print);
    print(await session.delegationText());
  };

/** The rows of options.def for a call. */
export const rowsOf = (call: Parameters<typeof optionsOf>[0]): OptionTable =>
  Object.fromEntries(
    optionsOf(call).map((option): [string, Kind] => [
      option.name,
      { accepts: accepts(option), test: (value) => isTaken(option, value) },
    ]),
  );

const CALL = { signal: "signal", onProgress: "function" } as const;
const EDGE = {
  ...CALL,
  constantMethods: "record",
  compileConfig: rowsOf("toEdge"),
  generateEtrecord: "flag",
} as const;
const BACKEND = { ...CALL, ...rowsOf("toBackend") } as const;
const LOWERED = {
  ...EDGE,
  ...BACKEND,
  transformPasses: "any",
  partitioner: "any",
} as const;
const EXECUTORCH = rowsOf("toExecutorch");
const BACKEND_CONFIG = { passes: "any", ...EXECUTORCH } as const;
const EXPORT = {
  ...CALL,
  recipe: "any",
  exampleInputs: "calls",
  constantMethods: "record",
  dynamicShapes: rowsOf("toEdge")["dynamicShapes"]!,
  generateEtrecord: "flag",
  sensitivity: "flag",
  name: "text",
} as const;
const LOAD = { ...CALL, dataFiles: "files", ...rowsOf("load") } as const;

const SCALE: Kind = {
  accepts: '"ns", "us", "ms", "s" or "cycles"',
  test: (value) => ["ns", "us", "ms", "s", "cycles"].includes(value as string),
};
const INSPECTOR = {
  ...CALL,
  sourceTimeScale: SCALE,
  targetTimeScale: SCALE,
  method: "text",
  delegateTime: "function",
  delegateMetadata: "function",
} as const;
const GAP = {
  ...CALL,
  method: "text",
  reference: "text",
  values: "flag",
  distance: "function",
  preprocess: "function",
} as const;
const LIGHT: Kind = {
  accepts: 'true, false or "light"',
  test: (value) => typeof value === "boolean" || value === "light",
};
const SAVE = { ...CALL, light: "flag", method: "name" } as const;
const RECORDED: Kind = {
  accepts: 'true, false, "outputs" or "intermediates"',
  test: (value) => typeof value === "boolean" || value === "outputs" || value === "intermediates",
};
const CASE: Kind = {
  accepts: "a whole number from 0 to 2147483647",
  test: (value) => Number.isInteger(value) && Number(value) >= 0 && Number(value) < 2 ** 31,
};
const RUN = {
  ...CALL,
  events: RECORDED,
  delegateValues: DELEGATE_VALUES,
  bundledInputIndex: CASE,
} as const;
const TOLERANCE: Kind = {
  accepts: "a number, 0 or more",
  test: (value) => Number.isFinite(value) && Number(value) >= 0,
};
const VERIFY = {
  ...CALL,
  rtol: TOLERANCE,
  atol: TOLERANCE,
  method: "text",
  events: RECORDED,
  delegateValues: DELEGATE_VALUES,
} as const;

const FINITE: Kind = { accepts: "a finite number", test: Number.isFinite };
const SGD = {
  lr: FINITE,
  momentum: FINITE,
  dampening: FINITE,
  weightDecay: FINITE,
  nesterov: "flag",
  method: "text",
} as const;

const PROPERTY = { is: "property" } as const;
const LOCAL = { is: "local" } as const;
/** Members of sessions that work with stages. */
const STAGES = {
  is: "local",
  why: "a stage is a function, which cannot be sent to a worker",
  instead: "Name stages in pipelineStages of the recipe, and passes by importPasses().",
} as const;
const ARTIFACTS = {
  is: "local",
  why: "artifacts hold objects that live in the worker",
  instead:
    "Ask for one: getExportedProgram(), getEdgeProgramManager(), getExecutorchProgramManager().",
} as const;
const DATA = { is: "method", gives: "data" } as const;
const METHOD = { is: "method", gives: "ExportedProgram" } as const;
const CALLED = { ...DATA, at: 2, options: RUN, mayOmitText: true } as const;
const HANDED = { ...DATA, object: 0 } as const;
/** The members that every manager has. */
const RECORDS = {
  etrecord: LOCAL,
  getEtrecord: { is: "method", gives: "ETRecord" },
  createEtrecord: { is: "method", gives: "ETRecord" },
} as const;

/** Members of programs that every runtime has. */
const RUNNING = {
  methods: PROPERTY,
  inspect: DATA,
  run: CALLED,
  runNamed: CALLED,
  etdump: DATA,
  savePacked: { is: "stream", of: "toPackedBlob", at: 1, options: CALL },
  toPackedBlob: { ...DATA, at: 0, options: CALL },
  reset: DATA,
  testSuites: DATA,
  verify: { ...DATA, at: 0, options: VERIFY },
} as const;

const PROTOCOL = {
  Engine: {
    version: PROPERTY,
    capabilities: DATA,
    heapBytes: DATA,
    meta: DATA,
    detect: { ...DATA, source: 0, peeks: true },
    open: { is: "method", gives: "OpenedPrograms", files: 0, at: 1, options: CALL },
    toEdge: { is: "method", gives: "EdgeProgramManager", files: 0, at: 1, options: EDGE },
    lower: {
      is: "method",
      gives: "ExecutorchProgramManager",
      files: 0,
      at: 1,
      options: { ...LOWERED, ...EXECUTORCH, verify: "flag", etrecord: LIGHT },
    },
    toEdgeTransformAndLower: {
      is: "method",
      gives: "EdgeProgramManager",
      files: 0,
      at: 1,
      options: LOWERED,
    },
    export: { is: "method", gives: "ExportSession", files: 0, at: 1, options: EXPORT },
    createExportSession: {
      is: "method",
      gives: "ExportSession",
      files: 0,
      at: 1,
      options: EXPORT,
    },
    inflate: LOCAL,
    inspect: { ...DATA, files: 0, peeks: true },
    load: { is: "method", gives: "Program", source: 0, at: 1, options: LOAD },
    inspector: { is: "method", gives: "Inspector", files: 0, at: 1, options: INSPECTOR },
    parseEtrecord: { is: "method", gives: "ETRecord", files: 0 },
    bundle: { ...DATA, source: 0, at: 2, options: LOAD },
    registerBackend: LOCAL,
    importBackend: { ...DATA, module: 0 },
    registerOperator: LOCAL,
    importOperators: { ...DATA, module: 0 },
    registerPass: LOCAL,
    importPasses: { ...DATA, module: 0 },
    registerPartitioner: LOCAL,
    importPartitioners: { ...DATA, module: 0 },
    registerMemoryPlanner: LOCAL,
    importMemoryPlanners: { ...DATA, module: 0 },
  },
  OpenedPrograms: {
    methods: PROPERTY,
    createEtrecord: RECORDS.createEtrecord,
    exportedProgram: METHOD,
    inspect: DATA,
    exampleInputs: DATA,
    toEdge: { is: "method", gives: "EdgeProgramManager", at: 0, options: EDGE },
    toEdgeTransformAndLower: {
      is: "method",
      gives: "EdgeProgramManager",
      at: 0,
      options: LOWERED,
    },
    text: DATA,
    nodes: DATA,
  },
  EdgeProgramManager: {
    ...RECORDS,
    methods: PROPERTY,
    configMethods: PROPERTY,
    exportedProgram: METHOD,
    transform: { is: "method", gives: "EdgeProgramManager" },
    toBackend: {
      is: "method",
      gives: "EdgeProgramManager",
      at: 1,
      options: BACKEND,
      orText: true,
    },
    delegation: DATA,
    toExecutorch: {
      is: "method",
      gives: "ExecutorchProgramManager",
      at: 0,
      options: { ...CALL, ...BACKEND_CONFIG },
    },
    inspect: DATA,
    text: DATA,
    nodes: DATA,
  },
  ExecutorchProgramManager: {
    ...RECORDS,
    methods: PROPERTY,
    configMethods: PROPERTY,
    size: PROPERTY,
    dataFiles: PROPERTY,
    buffer: { is: "getter" },
    toBlob: { ...DATA, at: 1, options: CALL },
    dataFile: DATA,
    writeTo: { is: "stream", of: "toBlob", at: 2, options: CALL },
    writeSync: LOCAL,
    exportedProgram: METHOD,
    executorchProgram: { is: "getter" },
    debugHandleMap: { is: "getter" },
    delegateMap: { is: "getter" },
    dump: { ...DATA, at: 0, options: { verbose: "flag" } },
    delegation: DATA,
    verification: PROPERTY,
    verify: { ...DATA, at: 0, options: CALL },
    inspect: DATA,
  },
  ExportedProgram: {
    method: PROPERTY,
    text: DATA,
    nodes: DATA,
    signature: { is: "getter" },
    rangeConstraints: { is: "getter" },
    constants: { is: "getter" },
    constant: DATA,
    stateDict: DATA,
    read: LOCAL,
    call: DATA,
  },
  Program: {
    ...RUNNING,
    partText: DATA,
    forwardBackward: CALLED,
    namedParameters: DATA,
    setNamedParameters: DATA,
    namedGradients: DATA,
    sgd: { is: "method", gives: "SgdOptimizer", at: 0, options: SGD },
  },
  Runtime: {
    version: PROPERTY,
    capabilities: DATA,
    heapBytes: DATA,
    load: { is: "method", gives: "RuntimeProgram", source: 0, at: 1, options: LOAD },
    registerBackend: LOCAL,
    importBackend: { ...DATA, module: 0 },
    registerOperator: LOCAL,
    importOperators: { ...DATA, module: 0 },
  },
  RuntimeProgram: RUNNING,
  SgdOptimizer: {
    step: DATA,
  },
  Inspector: {
    report: DATA,
    events: DATA,
    ops: DATA,
    modules: DATA,
    timeline: DATA,
    trace: DATA,
    delegation: DATA,
    memory: DATA,
    numericGap: { ...DATA, at: 0, options: GAP, here: gapCall },
    compare: { ...DATA, files: 0, at: 1, options: INSPECTOR },
    nodes: DATA,
    text: DATA,
    diff: DATA,
  },
  ExportSession: {
    name: PROPERTY,
    pipelineStages: PROPERTY,
    registerStage: STAGES,
    getRegisteredStage: STAGES,
    getAllRegisteredStages: STAGES,
    run: { ...DATA, at: 0, options: CALL },
    getStageArtifacts: ARTIFACTS,
    stages: DATA,
    getExportedProgram: METHOD,
    getOpenedPrograms: { is: "method", gives: "OpenedPrograms" },
    getEdgeProgramManager: { is: "method", gives: "EdgeProgramManager" },
    getExecutorchProgramManager: { is: "method", gives: "ExecutorchProgramManager" },
    getExecutorchProgram: DATA,
    getPteBuffer: DATA,
    saveToPte: { is: "derived", make: saveRemotely },
    getExampleInput: DATA,
    runMethod: DATA,
    delegationInfo: DATA,
    delegationText: DATA,
    printDelegationInfo: { is: "derived", make: printRemotely },
    quantizationReport: DATA,
    getEtrecord: RECORDS.getEtrecord,
  },
  ETRecord: {
    exportedProgram: LOCAL,
    edgeDialectProgram: LOCAL,
    graphMap: LOCAL,
    program: METHOD,
    inspect: DATA,
    maps: DATA,
    referenceOutputs: DATA,
    representativeInputs: DATA,
    exampleInputs: DATA,
    addExportedProgram: HANDED,
    addEdgeDialectProgram: HANDED,
    addExecutorchProgram: { ...HANDED, source: 1 },
    addExtraExportModules: HANDED,
    updateRepresentativeInputs: { ...DATA, source: 0 },
    updateReferenceOutputs: { ...DATA, source: 0 },
    copy: { is: "method", gives: "ETRecord" },
    save: { is: "stream", of: "toBlob", at: 1, options: SAVE },
    toBlob: { ...DATA, at: 0, options: SAVE },
    bytes: { ...DATA, at: 0, options: SAVE },
  },
} as const satisfies {
  [K in ObjectKind]: {
    [M in Exclude<keyof Interfaces[K] & string, "dispose">]: M extends LocalMember<Interfaces[K]>
      ? Local
      : Exclude<Member, Local>;
  };
};

/** The rows of a kind of object; none of one that the table does not know. */
export function membersOf(kind: string): Readonly<Record<string, Member>> {
  return Object.hasOwn(PROTOCOL, kind) ? PROTOCOL[kind as ObjectKind] : {};
}

/** The row of a method; that of one that the table does not know takes and gives data. */
export function methodOf(kind: string, name: string): Method {
  const members = membersOf(kind);
  const member = Object.hasOwn(members, name) ? members[name]! : DATA;
  return member.is === "method" ? member : DATA;
}

/** Which of the arguments of a call holds its options; -1 for none. */
export function optionsPlace(kind: string, name: string, args: readonly unknown[]): number {
  const { at = -1, orText = false, mayOmitText = false } = methodOf(kind, name);
  if (mayOmitText && typeof args[0] !== "string") return at - 1;
  return orText && typeof args[at] === "string" ? -1 : at;
}

/** Throws unless these are options of the method. */
export function checkOptions(kind: ObjectKind, name: string, options: unknown): void {
  const member = membersOf(kind)[name];
  checkTable(`${name}()`, options, (member && "options" in member && member.options) || {});
}

/** The names of options that are lists of sources. */
export const filesAmong = (table: OptionTable): string[] =>
  Object.keys(table).filter((name) => table[name] === "files");

/** The names of options of a method that are calls, which may be iterables. */
export function callsAmong(kind: string, name: string): string[] {
  const { options = {} } = methodOf(kind, name);
  return Object.keys(options).filter((option) => options[option] === "calls");
}

/** The methods of a kind of object that open files. */
export const openersOf = (kind: ObjectKind): string[] =>
  Object.keys(PROTOCOL[kind]).filter((name) => methodOf(kind, name).files !== undefined);
