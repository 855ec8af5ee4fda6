// sconce run --verify: the calls that a bundled program comes with, and how far off what they return
// is.
import { counted } from "../../base/counted.js";
import type { CaseVerdict, OutputVerdict, Program } from "../../types/index.js";
import type { Flags } from "../shell/flag.js";
import { note, say, warn } from "../print/terminal.js";
import { UsageError } from "../usage.js";
import type { Recording } from "./recording.js";

/** The flags of --verify. */
export const VERIFY_FLAGS = {
  verify: {
    type: "boolean",
    text:
      "run the calls that a .bpte comes with, and compare the results; with --method NAME those of one " +
      "method",
  },
  rtol: {
    type: "string",
    value: "X",
    text: "how far floats may be off, as a share of what is expected; default 1e-5",
  },
  atol: {
    type: "string",
    value: "X",
    text: "how far floats may be off in addition, as a number; default 1e-8",
  },
} as const satisfies Flags;

/** How far outputs may be from those that are expected. */
export interface Tolerances {
  rtol?: number;
  atol?: number;
}

interface Given {
  verify?: boolean | undefined;
  rtol?: string | undefined;
  atol?: string | undefined;
}

function tolerance(flag: string, text: string): number {
  const value = Number(text);
  if (text.trim() === "" || !Number.isFinite(value) || value < 0)
    throw new UsageError(`--${flag} takes a number, 0 or more, not '${text}'`);
  return value;
}

/** The check that the flags ask for; undefined where they ask for none. */
export function tolerancesOf({ verify, rtol, atol }: Given): Tolerances | undefined {
  if (!verify && (rtol ?? atol) !== undefined)
    throw new UsageError("--rtol and --atol go with --verify");
  if (!verify) return undefined;
  return {
    ...(rtol !== undefined && { rtol: tolerance("rtol", rtol) }),
    ...(atol !== undefined && { atol: tolerance("atol", atol) }),
  };
}

const real = (value: number | null): string =>
  value === null ? "not a finite number" : String(Number(value.toPrecision(3)));

function describe(verdict: OutputVerdict): string {
  const { isClose, whyNot, mismatches, elements, worst, maxAbsolute, maxRelative } = verdict;
  if (whyNot) return `other ${whyNot} than expected`;
  const off = `off by at most ${real(maxAbsolute)}, ${real(maxRelative)} of what is expected`;
  if (isClose) return `ok, ${off}`;
  return `${mismatches} of ${elements} differ, ${off}, most at element ${worst}`;
}

function tell({ methodName, testCase, outputs }: CaseVerdict): void {
  const lead = `${methodName}, case ${testCase}`;
  if (outputs.length === 0) note(`note: ${lead}: no results are expected, so none were compared`);
  outputs.forEach((verdict, i) => say(`${lead}: output_${i}: ${describe(verdict)}`));
}

interface Verdicts {
  /** Everything that is expected is there. */
  readonly isRight: boolean;
  readonly cases: readonly CaseVerdict[];
}

/** Runs the cases of the method, or all, and says how they compare. */
export function verifyBundle(
  program: Program,
  tolerances: Tolerances,
  count: number,
  method: string | undefined,
  recording: Recording,
): Verdicts {
  const { events } = recording;
  const options = { ...tolerances, events, ...(method !== undefined && { method }) };
  let verdicts: CaseVerdict[] = [];
  for (let i = 0; i < count; i++) verdicts = program.verify(options);
  verdicts.forEach(tell);
  const wrong = verdicts.filter(({ outputs }) => outputs.some(({ isClose }) => !isClose));
  const total = counted(verdicts.length, "case");
  if (wrong.length > 0) warn(`${wrong.length} of ${total} differ from what is expected`);
  else say(`${total} as expected`);
  return { isRight: wrong.length === 0, cases: verdicts };
}
