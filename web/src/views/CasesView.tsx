// The calls that a bundled program comes with, and how far what they return is from what they should.
import type { JSX } from "preact";
import type { OutputVerdict } from "@sconce/types/index.js";
import { setTolerance, takeCase, verifyCases } from "../actions.js";
import { app, type BundledCase } from "../state.js";
import { formatCount, formatFigure, plural } from "../ui/format.js";
import { SortedTable, type Column, type Room } from "../ui/SortedTable.js";

interface Row {
  of: BundledCase;
  /** -1: no result is expected. */
  output: number;
  /** Null until it was run. */
  verdict: OutputVerdict | null;
  isRun: boolean;
}

function rowsOf(): Row[] {
  const { list, verdicts } = app.cases.value;
  return list.flatMap((of) => {
    const found = verdicts.find(
      ({ methodName, testCase }) => methodName === of.method && testCase === of.testCase,
    );
    const isRun = found !== undefined;
    if (of.expected === 0) return [{ of, output: -1, verdict: null, isRun }];
    return Array.from({ length: of.expected }, (_, output): Row => {
      return { of, output, verdict: found?.outputs[output] ?? null, isRun };
    });
  });
}

const WHY = {
  dtype: "another dtype",
  sizes: "other sizes",
  strides: "other strides",
  kind: "no tensor",
} as const;

function wordsOf({ output, verdict, isRun }: Row): string {
  if (output < 0) return isRun ? "ran; no outputs are expected" : "no outputs are expected";
  if (!verdict) return "not run yet";
  if (verdict.whyNot) return WHY[verdict.whyNot];
  return verdict.isClose ? "as expected" : "too far off";
}

const isBad = ({ verdict }: Row): boolean => verdict !== null && !verdict.isClose;

const figure = (value: number | null): string =>
  value === null ? "not finite" : formatFigure(value);

const number = (
  id: "maxAbsolute" | "maxRelative" | "meanAbsolute",
  name: string,
  from: Room,
): Column<Row> => ({
  id,
  name,
  key: ({ verdict }) => verdict?.[id] ?? null,
  show: ({ verdict }) => (verdict && !verdict.whyNot ? figure(verdict[id]) : ""),
  isNumber: true,
  from,
  width: "6.5rem",
});

const COLUMNS: readonly Column<Row>[] = [
  {
    id: "case",
    name: "Case",
    key: ({ of, output }) => `${of.method} ${String(of.testCase).padStart(6)} ${output}`,
    show: ({ of, output }) =>
      `${of.method} ${of.testCase}${of.expected > 1 ? `, output ${output}` : ""}`,
    width: "minmax(6rem, 0.7fr)",
  },
  {
    id: "verdict",
    name: "Verdict",
    key: (row) => Number(!isBad(row)),
    show: (row) => <span class={isBad(row) ? "bad" : "soft"}>{wordsOf(row)}</span>,
    title: wordsOf,
    width: "minmax(7rem, 1.3fr)",
  },
  {
    id: "mismatches",
    name: "Off",
    key: ({ verdict }) => verdict?.mismatches ?? null,
    show: ({ verdict }) =>
      verdict && !verdict.whyNot
        ? `${formatCount(verdict.mismatches)} of ${formatCount(verdict.elements)}`
        : "",
    isNumber: true,
    from: "wide",
    width: "minmax(5.5rem, 0.7fr)",
  },
  number("maxAbsolute", "Largest", "phone"),
  number("maxRelative", "Relative", "wide"),
  number("meanAbsolute", "Mean", "wide"),
  {
    id: "worst",
    name: "At element",
    key: ({ verdict }) => verdict?.worst ?? null,
    show: ({ verdict }) =>
      verdict && !verdict.whyNot && verdict.maxAbsolute !== 0 ? formatCount(verdict.worst) : "",
    isNumber: true,
    from: "wide",
    width: "6rem",
  },
  {
    id: "use",
    name: "",
    key: () => 0,
    show: ({ of }) => (
      <button
        type="button"
        class="link"
        title="Puts its inputs into the fields of Call"
        onClick={() => void takeCase(of.method, of.testCase)}
      >
        Use as inputs
      </button>
    ),
    from: "wide",
    width: "7rem",
  },
];

function Tolerance(props: { id: "rtol" | "atol"; title: string }): JSX.Element {
  const { id, title } = props;
  return (
    <label class="inline" title={title}>
      <span class="mono">{id}</span>
      <input
        class="short mono"
        inputMode="decimal"
        spellcheck={false}
        value={app.cases.value[id]}
        onInput={(event) => setTolerance({ [id]: event.currentTarget.value })}
      />
    </label>
  );
}

function summary(rows: readonly Row[]): string {
  const { list, verdicts } = app.cases.value;
  if (verdicts.length === 0)
    return `${plural(list.length, "case")} came with the program. Each runs from its first state.`;
  const compared = rows.filter(({ verdict }) => verdict !== null);
  const bad = compared.filter(isBad).length;
  const all = plural(compared.length, "output");
  return bad === 0
    ? `All of ${all} as expected.`
    : `${formatCount(bad)} of ${all} ${bad === 1 ? "differs" : "differ"}.`;
}

export function CasesView(): JSX.Element {
  const rows = rowsOf();
  return (
    <div class="profile">
      <form
        class="profile-head"
        onSubmit={(event) => {
          event.preventDefault();
          void verifyCases();
        }}
      >
        <button type="submit" class="primary" disabled={app.busy.value !== null}>
          Run all cases
        </button>
        <Tolerance
          id="rtol"
          title="How far a float may be off, as a share of the expected value; with both 0, it must be equal"
        />
        <Tolerance id="atol" title="How far in addition, as an absolute number" />
        <p role="status" class={rows.some(isBad) ? "bad" : ""}>
          {summary(rows)}
        </p>
      </form>
      <SortedTable
        label="Cases"
        rows={rows}
        columns={COLUMNS}
        by=""
        isDescending={false}
        empty="The program comes without cases."
      />
    </div>
  );
}
