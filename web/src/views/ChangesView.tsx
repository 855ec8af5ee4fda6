// The fate of each node since the stage before, with the line of Python that it comes from.
import type { JSX } from "preact";
import { computed, signal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import type { NodeRow } from "@sconce/types/index.js";
import { selectNode, showNode } from "../actions.js";
import { changesOf, type Change, type Kind } from "../changes.js";
import { fateOf } from "../delegates.js";
import { earlierRows, rows, neighbourStep } from "../derived.js";
import type { View, StepId } from "../looks.js";
import { app } from "../state.js";
import { familyOf } from "../ui/families.js";
import { formatCount, formatType, plural, splitSource } from "../ui/format.js";
import { Swatch } from "../ui/parts.js";
import { SortedTable, type Column } from "../ui/SortedTable.js";
import { SearchBox } from "./SearchBox.js";
import { Waiting } from "./Waiting.js";
import { STEP_NAMES } from "../words.js";

/** A change with its place in the program, and a summary of it. */
interface Line extends Change {
  index: number;
  summary: string;
  source: string;
  text: string;
}

const KINDS: readonly { kind: Kind; name: string; mark: string }[] = [
  { kind: "changed", name: "Changed", mark: "~" },
  { kind: "added", name: "Added", mark: "+" },
  { kind: "removed", name: "Removed", mark: "−" },
  { kind: "same", name: "Same", mark: "=" },
];
const MARKS = Object.fromEntries(KINDS.map(({ kind, mark }) => [kind, mark])) as Record<
  Kind,
  string
>;

/** Kinds that are left out; what has not changed is, at first. */
const hidden = signal<ReadonlySet<Kind>>(new Set<Kind>(["same"]));

/** The line that was picked last: what was removed is no node of the version that is shown. */
const picked = signal<Line | null>(null);

function tellChange({ kind, before, what }: Change): string {
  const part = kind === "removed" ? fateOf(before!.name)?.part : undefined;
  if (part) return `to ${part.label}`;
  return kind === "changed" ? what.join(", ") : kind;
}

const wordsOf = (row: NodeRow | null): string[] => (row ? [row.name, row.op, row.module] : []);

const all = computed((): Line[] =>
  (rows.value && earlierRows.value ? changesOf(earlierRows.value, rows.value) : []).map(
    (change, i) => {
      const { before, after } = change;
      const summary = tellChange(change);
      const source = after?.source || before?.source || "";
      const words = [change.kind, summary, source, ...wordsOf(before), ...wordsOf(after)];
      return { ...change, index: i + 1, summary, source, text: words.join(" ").toLowerCase() };
    },
  ),
);

const found = computed((): Line[] => {
  const words = app.search.value.toLowerCase().split(/\s+/).filter(Boolean);
  return all.value.filter(({ text }) => words.every((word) => text.includes(word)));
});

const shown = computed(() => found.value.filter(({ kind }) => !hidden.value.has(kind)));

const typesOf = (row: NodeRow): string =>
  row.outputs.map((out) => formatType(out, app.dtypes.value)).join(", ");

const titleOf = (row: NodeRow | null): string =>
  row ? `${row.name}: ${row.op}(${row.inputs.join(", ")}) gives ${typesOf(row)}` : "";

function sideColumn(id: "before" | "after", name: string): Column<Line> {
  return {
    id,
    name,
    key: (line) => line[id]?.name ?? null,
    show: (line) => {
      const row = line[id];
      if (!row) return null;
      return (
        <>
          <Swatch family={familyOf(row.op)} />
          {row.name} <span class="soft">{row.op}</span>
        </>
      );
    },
    title: (line) => titleOf(line[id]),
    width: "minmax(9rem, 1.4fr)",
  };
}

function columnsOf(before: StepId, after: StepId): Column<Line>[] {
  return [
    {
      id: "index",
      name: "#",
      key: (line) => line.index,
      show: (line) => line.index,
      isNumber: true,
      from: "wide",
      width: "3.5rem",
    },
    {
      id: "change",
      name: "Change",
      key: (line) => `${KINDS.findIndex(({ kind }) => kind === line.kind)} ${line.summary}`,
      show: (line) => (
        <span class={`change is-${line.kind}`}>
          <span aria-hidden="true">{MARKS[line.kind]} </span>
          {line.summary}
        </span>
      ),
      title: describe,
      width: "minmax(9.5rem, 0.9fr)",
    },
    sideColumn("before", STEP_NAMES[before]),
    sideColumn("after", STEP_NAMES[after]),
    {
      id: "source",
      name: "Source line",
      key: (line) => line.source || null,
      show: (line) => {
        const { place, code } = splitSource(line.source);
        return (
          <>
            {place.replace(/ in .*$/s, "")} <span class="soft">{code}</span>
          </>
        );
      },
      title: (line) => line.source,
      from: "wide",
      width: "minmax(10rem, 1.6fr)",
    },
  ];
}

function toggle(kind: Kind): void {
  const next = new Set(hidden.value);
  if (!next.delete(kind)) next.add(kind);
  hidden.value = next;
}

function Kinds(): JSX.Element {
  return (
    <div class="views" role="group" aria-label="Kinds of changes">
      {KINDS.map(({ kind, name }) => (
        <button
          key={kind}
          type="button"
          class="segment"
          aria-pressed={!hidden.value.has(kind)}
          onClick={() => toggle(kind)}
        >
          {name} {formatCount(all.value.filter((line) => line.kind === kind).length)}
        </button>
      ))}
    </div>
  );
}

const LOOKS: readonly View[] = ["graph", "table"];

/** The ways to a node in a step. */
function Ways(props: { step: StepId; row: NodeRow | null }): JSX.Element | null {
  const { step, row } = props;
  if (!row) return null;
  return (
    <span class="change-ways">
      <span class="soft">{STEP_NAMES[step]}:</span> <span class="mono">{row.name}</span>
      {LOOKS.map((look) => (
        <button
          key={look}
          type="button"
          class="link"
          aria-label={`Show ${row.name} of ${STEP_NAMES[step]} in the ${look}`}
          onClick={() => showNode(step, app.method.value, row.name, look)}
        >
          {look}
        </button>
      ))}
    </span>
  );
}

/** "Changed: operator, inputs", in full. */
function describe({ kind, summary }: Line): string {
  const { name } = KINDS.find((row) => row.kind === kind)!;
  return kind === summary ? name : `${name}: ${summary}`;
}

/** The picked node: its line of Python, and links to it in either stage. */
function Foot(props: { line: Line | undefined; before: StepId }): JSX.Element {
  const { line, before } = props;
  if (!line) return <p class="change-foot soft">Pick a line to see where it comes from.</p>;
  return (
    <div class="change-foot">
      <span class={`change is-${line.kind}`}>{describe(line)}</span>
      <code>{line.source || "No line of Python is known."}</code>
      <Ways step={before} row={line.before} />
      <Ways step={app.step.value} row={line.after} />
    </div>
  );
}

function pick(line: Line): void {
  selectNode(line.after?.name ?? "");
  picked.value = line;
}

/** The line that is picked, or that of the node that was selected elsewhere. */
function activeLine(): Line | undefined {
  const node = app.node.value;
  if (node) return all.value.find(({ after }) => after?.name === node);
  return all.value.find((line) => line === picked.value && !line.after);
}

export function ChangesView(): JSX.Element {
  const step = app.step.value;
  const before = neighbourStep(step, -1);
  const columns = useMemo(() => (before ? columnsOf(before, step) : []), [before, step]);
  if (!before) return <p class="waiting">There is no stage before this one.</p>;
  if (!rows.value || !earlierRows.value) return <Waiting />;
  const active = activeLine();
  const list = shown.value;
  const isAll = list.length === all.value.length;
  const left = isAll ? "" : ` of ${formatCount(all.value.length)}`;
  const isSame = all.value.every(({ kind }) => kind === "same") && !app.search.value;
  return (
    <div class="profile changes">
      <div class="profile-looks">
        <Kinds />
        <SearchBox
          label="Filter changes"
          placeholder="Filter: name, operator, source line"
          count={isAll ? plural(list.length, "line") : `${formatCount(list.length)}${left}`}
        />
      </div>
      <SortedTable
        key={app.step.value}
        label={`Changes since ${STEP_NAMES[before]}`}
        rows={list}
        columns={columns}
        by="index"
        isDescending={false}
        isActive={(line) => line === active}
        onPick={pick}
        empty={
          isSame
            ? `No node has another operator, other inputs or another result than in ${STEP_NAMES[before]}.`
            : "No change is of the kinds and the text that are asked for."
        }
      />
      {list.length > 0 ? <Foot line={active} before={before} /> : null}
    </div>
  );
}
