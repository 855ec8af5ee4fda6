// What sconce run records on the way: the flags for it, the options of the runs, and the files.
import { counted } from "../../base/counted.js";
import { SconceError } from "../../base/errors.js";
import type {
  EventDump,
  LoadOptions,
  Program,
  RecordedEvents,
  RunOptions,
} from "../../types/index.js";
import type { Flags } from "../shell/command.js";
import { note, tell as sayDone, UsageError, warn } from "../common.js";
import { outputAt, realOf } from "../files/files.js";

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
    text: "and the values that every instruction writes; the program then runs unoptimized",
  },
} as const satisfies Flags;

interface Given {
  etdump?: string | undefined;
  "debug-output"?: string | undefined;
  intermediates?: boolean | undefined;
}

/** What a run that did not fit is about; other limits are those of the program. */
const isFull = (error: unknown): error is SconceError =>
  error instanceof SconceError && error.code === "limit" && error.hint.includes("eventBytesMax");

/**
 * Does runs of which the recording may get too large; says so, and returns false. What was recorded
 * before is there; `done` tells how many runs that were, where it is known.
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

export interface Recording {
  /** Options that the program is loaded with. */
  readonly load: LoadOptions;
  /** What each run records. */
  readonly events: RecordedEvents;
  /** Options of a run; `testCase` counts the calls of its method. */
  of(testCase: number | undefined): RunOptions;
  /** Where it goes. */
  readonly paths: readonly string[];
  /** What was recorded, and where it goes. */
  files(program: Program): { path: string; bytes: Uint8Array }[];
}

const nothing: Recording = { load: {}, events: false, of: () => ({}), paths: [], files: () => [] };

function checkFlags({ etdump, "debug-output": debug, intermediates }: Given): void {
  if (etdump === "" || debug === "") throw new UsageError("say which file: --etdump model.etdp");
  if (debug !== undefined && etdump === undefined)
    throw new UsageError("--debug-output goes with --etdump, which refers to its bytes");
  if (intermediates && debug === undefined)
    throw new UsageError("--intermediates needs --etdump and --debug-output for what it records");
  if (debug !== undefined && realOf(debug) === realOf(etdump!))
    throw new UsageError("--etdump and --debug-output are two files");
}

function tell(dump: EventDump, path: string): void {
  sayDone(`${path}: ${counted(dump.blocks, "block")}, ${counted(dump.events, "event")}`);
  if (dump.omitted > 0)
    note(`note: ${counted(dump.omitted, "value")} of a kind that an ETDump has no place for`);
  if (dump.widened > 0)
    note(`note: ${counted(dump.widened, "tensor")} in a wider dtype, because readers lack theirs`);
  if (dump.instants > 0)
    note(
      `note: ${counted(dump.instants, "instruction")} took less than a step of the clock, ` +
        `${dump.clockStep} ns, and have the time 0`,
    );
}

/** What the flags ask for. */
export function recordingOf(flags: Given, program: string): Recording {
  const at = (path: string | undefined, extension: string): string | undefined =>
    path === undefined || path === "" ? path : outputAt(path, program, extension);
  const etdump = at(flags.etdump, ".etdp");
  const debug = at(flags["debug-output"], ".debug.bin");
  const { intermediates = false } = flags;
  checkFlags({ etdump, "debug-output": debug, intermediates });
  if (etdump === undefined) return nothing;
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
