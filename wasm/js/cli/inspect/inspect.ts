// sconce inspect: which of the kinds of files it is, and what the flags ask of it.
import { SconceError } from "../../base/errors.js";
import type {
  Engine,
  EventBlock,
  Inspector,
  InspectorFiles,
  InspectorOptions,
  Source,
  TimeScale,
} from "../../types/index.js";
import { defineCommand, type ValuesOf } from "../shell/command.js";
import { makeEngine } from "../engine.js";
import { EXIT, UsageError } from "../usage.js";
import { checkPlace, inFolders, isFolder, keepApart, outputAt } from "../files/files.js";
import { showComparison } from "./compare.js";
import { showDump } from "./dump.js";
import { METRICS, metricOf } from "./gap.js";
import { inspectPt2, inspectPte } from "./program.js";
import { showRecord } from "./record.js";
import { claimInputs, claimOutputs, sourceOf } from "../files/streams.js";

const SCALES: readonly TimeScale[] = ["ns", "us", "ms", "s", "cycles"];

const FLAGS = {
  nodes: {
    type: "boolean",
    text: "show all nodes of each delegate instead of the first ones; without it, JSON lists none of them",
  },
  data: {
    type: "string",
    multiple: true,
    value: "FILE",
    text: "a .ptd with weights of the .pte",
  },
  etrecord: {
    type: "string",
    multiple: true,
    value: "FILE",
    text:
      "the record of the program. With it, inspect names the node of the model for each value in memory, and " +
      "the node and the line for each event of a dump. For two dumps, give one for each, in their order",
  },
  "debug-output": {
    type: "string",
    value: "FILE",
    heading: "of a dump (.etdp)",
    text: "the file that run --debug-output wrote: the values that the dump refers to",
  },
  program: {
    type: "string",
    value: "FILE",
    text: "the .pte that ran, to show its memory plan as well",
  },
  gap: {
    type: "string",
    value: "HOW",
    words: METRICS,
    text:
      "compare the recorded values with those of the program in the record, and list the largest " +
      "differences first. HOW measures them: snr, mse, l1, cosine or max. Run with --input example before",
  },
  reference: {
    type: "string",
    value: "NAME",
    text:
      "the stage that --gap compares with: exported_program, or another stage of the record; " +
      "edge_dialect_exported_program by default",
  },
  method: {
    type: "string",
    value: "NAME",
    text: "show the runs of this method only; if the dump names no methods, all its runs count as this one",
  },
  time: {
    type: "string",
    value: "SCALE",
    words: SCALES,
    text: "the unit of the times that are shown: ns, us, ms, s or cycles; ms by default",
  },
  "source-time": {
    type: "string",
    value: "SCALE",
    words: SCALES,
    text: "the unit of the times in the dump; ns by default",
  },
  trace: {
    type: "string",
    value: "FILE",
    text: "write the timeline of all runs for Perfetto and chrome://tracing",
  },
  tsv: {
    type: "string",
    value: "FILE",
    text: "write the table of events as tab-separated values",
  },
  stage: {
    type: "string",
    multiple: true,
    value: "NAME",
    heading: "of a record (.etrecord)",
    text: "show the nodes of a stage; given twice, show the differences between the two stages",
  },
  node: {
    type: "string",
    value: "NAME",
    text: "show a node, with the Python lines that it comes from",
  },
} as const;
type Flags = ValuesOf<typeof FLAGS>;
type Kind = ReturnType<Engine["detect"]>;

/** Which files a flag is for. */
const OF: Readonly<Record<string, readonly Kind[]>> = {
  nodes: ["pte", "bpte", "packed"],
  data: ["pte", "bpte"],
  etrecord: ["etdump", "pte", "bpte"],
  program: ["etdump"],
  "debug-output": ["etdump"],
  gap: ["etdump"],
  reference: ["etdump"],
  method: ["etdump", "etrecord"],
  time: ["etdump"],
  "source-time": ["etdump"],
  trace: ["etdump"],
  tsv: ["etdump"],
  stage: ["etrecord"],
  node: ["etrecord"],
};
const KIND_NAMES: Readonly<Record<Kind, string>> = {
  pt2: "a .pt2",
  pte: "a .pte",
  ptd: "a .ptd",
  bpte: "a .bpte",
  packed: "a packed program",
  etdump: "a dump (.etdp)",
  etrecord: "a record (.etrecord)",
  unknown: "of an unknown kind",
};
/** Flags that only go with a single dump. */
const OF_ONE_DUMP = ["gap", "reference", "debug-output", "program", "trace", "tsv"] as const;

function checkFlags(flags: Flags, path: string, kind: Kind): void {
  for (const [flag, kinds] of Object.entries(OF))
    if (flag in flags && !kinds.includes(kind)) {
      const owners = kinds.map((name) => KIND_NAMES[name]).join(" or ");
      throw new UsageError(`--${flag} belongs to ${owners}; ${path} is ${KIND_NAMES[kind]}`);
    }
}

/** The scale that a flag says, which the parser has checked. */
const scaleOf = (flags: Flags, flag: "time" | "source-time"): TimeScale | undefined =>
  SCALES.find((scale) => scale === flags[flag]);

const fileOf = (path: string | undefined): Source | undefined =>
  path === undefined ? undefined : sourceOf(path);

/** An object without what is not there. */
const given = <T extends object>(members: T): { [K in keyof T]?: Exclude<T[K], undefined> } =>
  Object.fromEntries(
    Object.entries(members).filter(([, value]) => value !== undefined),
  ) as ReturnType<typeof given<T>>;

/** The files of --trace and --tsv, with the flags. Neither replaces a file that is read. */
function outputsOf(path: string, flags: Flags): Flags {
  const named: Flags = { ...flags };
  for (const [flag, extension] of [
    ["trace", ".json"],
    ["tsv", ".tsv"],
  ] as const) {
    const given = flags[flag];
    if (given === "") throw new UsageError(`say which file: --${flag} events${extension}`);
    if (given !== undefined) named[flag] = outputAt(given, path, extension);
  }
  const debug = flags["debug-output"] ?? [];
  const inputs = [path, ...(flags.etrecord ?? []), debug].flat();
  claimOutputs([named.trace ?? [], named.tsv ?? []].flat(), false);
  keepApart(inputs, [named.trace ?? [], named.tsv ?? []].flat());
  return named;
}

/**
 * Opens the dump and asks for the method's runs: told apart by themselves, or else all are of the
 * method that is named.
 */
function openDump(
  engine: Engine,
  files: InspectorFiles,
  options: InspectorOptions,
  method: string | undefined,
): Inspector {
  const inspector = engine.inspector(files, options);
  const isOf = (block: EventBlock): boolean => block.method === method;
  if (method === undefined || inspector.events().some(isOf)) return inspector;
  inspector.dispose();
  return engine.inspector(files, { ...options, method });
}

async function inspectDump(engine: Engine, path: string, given: Flags): Promise<number> {
  const flags = outputsOf(path, given);
  const { reference, method, trace, tsv } = flags;
  if (reference !== undefined && flags.gap === undefined)
    throw new UsageError("--reference goes with --gap, which compares with it");
  const gap = flags.gap === undefined ? undefined : metricOf(flags.gap);
  const folders = [given.trace ?? [], given.tsv ?? []].flat().filter(isFolder);
  return inFolders(folders, async () => {
    for (const file of [trace ?? [], tsv ?? []].flat()) checkPlace(file);
    const inspector = openDump(engine, filesOf(path, flags), scalesOf(flags), method);
    try {
      const hasProgram = flags.program !== undefined;
      const shown = { gap, reference, method, trace, tsv, hasProgram };
      return await showDump(inspector, shown);
    } finally {
      inspector.dispose();
    }
  });
}

const filesOf = (path: string, flags: Flags): InspectorFiles => ({
  etdump: sourceOf(path),
  ...given({
    etrecord: fileOf(flags.etrecord?.[0]),
    debugBuffer: fileOf(flags["debug-output"]),
    program: fileOf(flags.program),
  }),
});

const scalesOf = (flags: Flags): InspectorOptions =>
  given({
    targetTimeScale: scaleOf(flags, "time"),
    sourceTimeScale: scaleOf(flags, "source-time"),
  });

function compareDumps(engine: Engine, path: string, second: string, flags: Flags): number {
  for (const flag of OF_ONE_DUMP)
    if (flag in flags) throw new UsageError(`--${flag} works with one dump only`);
  const options = { ...scalesOf(flags), ...given({ method: flags.method }) };
  const inspector = engine.inspector(filesOf(path, flags), options);
  try {
    const other = { etdump: sourceOf(second), ...given({ etrecord: fileOf(flags.etrecord?.[1]) }) };
    showComparison(inspector.compare(other));
    return EXIT.done;
  } finally {
    inspector.dispose();
  }
}

function inspectDumps(engine: Engine, paths: string[], flags: Flags): Promise<number> | number {
  const [path, second] = paths as [string, string | undefined];
  if ((flags.etrecord?.length ?? 0) > paths.length)
    throw new UsageError("there are more --etrecord flags than dumps: give one for each dump");
  if (second !== undefined) return compareDumps(engine, path, second, flags);
  return inspectDump(engine, path, flags);
}

function inspectRecord(engine: Engine, path: string, flags: Flags): void {
  const inspector = engine.inspector({ etrecord: sourceOf(path) });
  try {
    const { stage: stages = [], method, node } = flags;
    showRecord(inspector, { stages, method, node });
  } finally {
    inspector.dispose();
  }
}

function inspectFile(engine: Engine, kind: Kind, path: string, flags: Flags): void {
  if (kind === "pt2") inspectPt2(engine, path);
  else if (kind === "pte" || kind === "bpte" || kind === "packed")
    inspectPte(engine, kind, path, flags);
  else if (kind === "etrecord") inspectRecord(engine, path, flags);
  else
    throw new SconceError(
      "format",
      `${path} is neither a .pt2 nor a .pte, and no .etdp or .etrecord`,
      "Pass a file of torch.export.save or of ExecuTorch.",
    );
}

async function inspect(flags: Flags, files: string[]): Promise<number> {
  if (files.length < 1 || files.length > 2)
    throw new UsageError("name one file to inspect, or two dumps to compare");
  const { data = [], etrecord = [], program = [], "debug-output": debug = [] } = flags;
  claimInputs([files, data, etrecord, program, debug].flat());
  const engine = await makeEngine();
  const kinds = files.map((path) => engine.detect(sourceOf(path)));
  checkFlags(flags, files[0]!, kinds[0]!);
  if (files.length === 2 && kinds.some((kind) => kind !== "etdump"))
    throw new UsageError("inspect compares two files only if both are dumps (.etdp)");
  if (kinds[0] === "etdump") return inspectDumps(engine, files, flags);
  inspectFile(engine, kinds[0]!, files[0]!, flags);
  return EXIT.done;
}

/** The command sconce inspect. */
export const INSPECT = defineCommand({
  name: "inspect",
  summary: "shows what is in a program, a record or a recorded run",
  examples: [
    "sconce inspect model.pt2",
    "sconce inspect model.pte --json",
    "sconce inspect model.pte --etrecord model.etrecord",
    "sconce inspect run.etdp --etrecord model.etrecord --debug-output run.bin --gap snr",
    "sconce inspect before.etdp after.etdp --etrecord model.etrecord",
    "sconce inspect model.etrecord --stage exported_program --stage edge_dialect_exported_program",
  ],
  files: "FILE",
  flags: FLAGS,
  run: inspect,
});
