// What sconce run records on the way: the flags for it, the options of the runs, and the files.
import type { EventDump, LoadOptions, Program, RecordedEvents, RunOptions } from "../types.js";
import { say, UsageError, warn } from "./common.js";
import { realOf } from "./files.js";

export const RECORD_HELP = `  --etdump FILE     record when each instruction began and ended, for the Inspector of ExecuTorch
  --debug-output FILE
                    also record what methods return: the bytes, to which the ETDump refers
  --intermediates   and what every instruction has written; runs what the file says, unoptimized`;

export const RECORD_FLAGS = {
  etdump: { type: "string" },
  "debug-output": { type: "string" },
  intermediates: { type: "boolean" },
} as const;

interface Flags {
  etdump?: string | undefined;
  "debug-output"?: string | undefined;
  intermediates?: boolean | undefined;
}

export interface Recording {
  /** Options that the program is loaded with. */
  readonly load: LoadOptions;
  /** What each run records. */
  readonly events: RecordedEvents;
  /** Options of a run; `testCase` counts the calls of its method. */
  of(testCase: number | undefined): RunOptions;
  /** What was recorded, and where it goes. */
  files(program: Program): { path: string; bytes: Uint8Array }[];
}

const nothing: Recording = { load: {}, events: false, of: () => ({}), files: () => [] };

function checkFlags({ etdump, "debug-output": debug, intermediates }: Flags): void {
  if (etdump === "" || debug === "") throw new UsageError("say which file: --etdump model.etdp");
  if (debug !== undefined && etdump === undefined)
    throw new UsageError("--debug-output goes with --etdump, which refers to its bytes");
  if (intermediates && debug === undefined)
    throw new UsageError("--intermediates needs --etdump and --debug-output for what it records");
  if (debug !== undefined && realOf(debug) === realOf(etdump!))
    throw new UsageError("--etdump and --debug-output are two files");
}

const counted = (count: number, what: string): string =>
  `${count} ${what}${count === 1 ? "" : "s"}`;

function tell(dump: EventDump, path: string): void {
  say(`${path}: ${counted(dump.blocks, "block")}, ${counted(dump.events, "event")}`);
  if (dump.omitted > 0)
    warn(`note: ${counted(dump.omitted, "value")} of a kind that an ETDump has no place for`);
  if (dump.widened > 0)
    warn(`note: ${counted(dump.widened, "tensor")} in a wider dtype, because readers lack theirs`);
  if (dump.instants > 0)
    warn(
      `note: ${counted(dump.instants, "instruction")} took less than a step of the clock, ` +
        `${dump.clockStep} ns, and have the time 0`,
    );
}

/** What the flags ask for. */
export function recordingOf(flags: Flags): Recording {
  checkFlags(flags);
  const { etdump, "debug-output": debug, intermediates = false } = flags;
  if (etdump === undefined) return nothing;
  const values = intermediates ? "intermediates" : "outputs";
  return {
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
