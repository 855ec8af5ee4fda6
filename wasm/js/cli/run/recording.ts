// Recordings of sconce run: the flags for them, the options of the runs, and the files.
import { counted } from "../../base/counted.js";
import { SconceError } from "../../base/errors.js";
import type {
  EventDump,
  LoadOptions,
  Program,
  RecordedEvents,
  RunOptions,
} from "../../types/index.js";
import type { Flags } from "../shell/flag.js";
import { note, tell as sayDone, warn } from "../print/terminal.js";
import { UsageError } from "../usage.js";
import { outputAt, realOf } from "../files/files.js";

/** The flags of recordings. */
export const RECORDING_FLAGS = {
  etdump: {
    type: "string",
    value: "FILE",
    text: "record when each instruction began and ended, for the Inspector of ExecuTorch",
  },
  "debug-output": {
    type: "string",
    value: "FILE",
    text: "also record the values that methods return, to which the ETDump refers",
  },
  intermediates: {
    type: "boolean",
    text: "also record the values that every instruction writes; the program then runs unoptimized",
  },
} as const satisfies Flags;

interface Given {
  etdump?: string | undefined;
  "debug-output"?: string | undefined;
  intermediates?: boolean | undefined;
}

/** True if the error says that a recording did not fit. Other limits are those of the program. */
const isFull = (error: unknown): error is SconceError =>
  error instanceof SconceError && error.code === "limit" && error.hint.includes("eventBytesMax");

/**
 * Does runs whose recording may get too large; then it says so and returns false. Earlier recordings
 * stay; `done` gives the number of those runs, where it is known.
 */
export function isRecorded(runs: () => void, done?: () => number): boolean {
  try {
    runs();
    return true;
  } catch (error) {
    if (!isFull(error)) throw error;
    const count = done?.();
    if (count === 0) throw new SconceError(error.code, error.message, FEWER);
    warn(`limit: ${error.message}`);
    const before = count === undefined ? "what was recorded" : counted(count, "run");
    warn(`  Of ${before} before it, the files are written. ${FEWER}`);
    return false;
  }
}

const FEWER = "Lower --repeat, record fewer calls at once, or leave out --intermediates.";

/** A recording that the flags ask for. */
export interface Recording {
  /** Options that the program is loaded with. */
  readonly load: LoadOptions;
  /** The events that each run records. */
  readonly events: RecordedEvents;
  /** Options of a run; `testCase` counts the calls of its method. */
  of(testCase: number | undefined): RunOptions;
  /** The paths of the files. */
  readonly paths: readonly string[];
  /** The recorded files, and their paths. */
  files(program: Program): { path: string; bytes: Uint8Array }[];
}

const noRecording: Recording = {
  load: {},
  events: false,
  of: () => ({}),
  paths: [],
  files: () => [],
};

function checkFlags({ etdump, "debug-output": debug, intermediates }: Given): void {
  if (etdump === "" || debug === "") throw new UsageError("say which file: --etdump model.etdp");
  if (debug !== undefined && etdump === undefined)
    throw new UsageError("--debug-output goes with --etdump, which refers to its bytes");
  if (intermediates && debug === undefined)
    throw new UsageError("--intermediates needs --etdump and --debug-output for what it records");
  if (debug !== undefined && realOf(debug) === realOf(etdump!))
    throw new UsageError("--etdump and --debug-output need two different files");
}

function tell(dump: EventDump, path: string): void {
  sayDone(`${path}: ${counted(dump.blocks, "block")}, ${counted(dump.events, "event")}`);
  if (dump.omitted > 0)
    note(
      `note: ${counted(dump.omitted, "value")} not recorded, because an ETDump cannot hold their kind`,
    );
  if (dump.widened > 0)
    note(
      `note: ${counted(dump.widened, "tensor")} recorded in a wider dtype, because readers of an ETDump do not know theirs`,
    );
  if (dump.instants > 0)
    note(
      `note: ${counted(dump.instants, "instruction")} took less than a step of the clock, ` +
        `${dump.clockStep} ns, and have the time 0`,
    );
}

/** The recording that the flags ask for. */
export function recordingOf(flags: Given, program: string): Recording {
  const at = (path: string | undefined, extension: string): string | undefined =>
    path === undefined || path === "" ? path : outputAt(path, program, extension);
  const etdump = at(flags.etdump, ".etdp");
  const debug = at(flags["debug-output"], ".debug.bin");
  const { intermediates = false } = flags;
  checkFlags({ etdump, "debug-output": debug, intermediates });
  if (etdump === undefined) return noRecording;
  const values = intermediates ? "intermediates" : "outputs";
  return {
    paths: debug === undefined ? [etdump] : [etdump, debug],
    load: intermediates ? { optimize: false } : {},
    events: debug === undefined ? true : values,
    // Repetitions of a call are merged by the Inspector, calls with other values must not be.
    of: (testCase) => {
      if (debug === undefined) return { events: true };
      return testCase === undefined
        ? { events: values }
        : { events: values, bundledInputIndex: testCase };
    },
    files(program) {
      const dump = program.etdump();
      tell(dump, etdump);
      const files = [{ path: etdump, bytes: dump.etdump }];
      return debug === undefined ? files : [...files, { path: debug, bytes: dump.debugBuffer }];
    },
  };
}
