// Nodes as a table: sorted by any column, filtered by text, thousands of them.
import type { JSX } from "preact";
import { computed } from "@preact/signals";
import type { NodeRow } from "@sconce/types/index.js";
import { selectNode, sortBy } from "../actions.js";
import { hasFates, parts, runnerOf, type Part } from "../delegates.js";
import { rows } from "../derived.js";
import { app } from "../state.js";
import { familyOf } from "../ui/families.js";
import { formatCount, formatType, plural, shortOp } from "../ui/format.js";
import { PartLabel, Swatch } from "../ui/parts.js";
import { Virtual } from "../ui/Virtual.js";
import { SearchBox } from "./SearchBox.js";
import { Waiting } from "./Waiting.js";

interface Line {
  row: NodeRow;
  index: number;
  part: Part | undefined;
  who: string;
  text: string;
}

const TITLES: Readonly<Record<string, string>> = {
  kernels: "No backend took it",
  erased: "Nothing needed it once sizes that views derive were not handed to them",
};

const typesOf = (row: NodeRow): string =>
  row.outputs.map((out) => formatType(out, app.dtypes.value)).join(", ");

/** "model.py:12 in forward: return self.fc(x)" without what follows the place. */
const placeOf = (source: string): string => source.replace(/ in .*$/s, "");

interface Column {
  id: string;
  name: string;
  key(line: Line): string | number;
}

const COLUMNS: readonly Column[] = [
  { id: "index", name: "#", key: (line) => line.index },
  { id: "part", name: "Goes to", key: (line) => (line.part ? parts.value.indexOf(line.part) : -1) },
  { id: "name", name: "Node", key: (line) => line.row.name },
  { id: "op", name: "Operator", key: (line) => line.row.op },
  { id: "type", name: "Result", key: (line) => typesOf(line.row) },
  { id: "inputs", name: "Inputs", key: (line) => line.row.inputs.join(" ") },
  { id: "source", name: "Source line", key: (line) => line.row.source },
];

const columns = computed(() => COLUMNS.filter(({ id }) => id !== "part" || hasFates.value));

const all = computed((): Line[] =>
  (rows.value ?? []).map((row, index) => {
    const runner = hasFates.value ? runnerOf(row) : "";
    const part = typeof runner === "string" ? undefined : runner;
    const who = part?.label ?? String(runner);
    return {
      row,
      index: index + 1,
      part,
      who,
      text: [row.name, row.op, typesOf(row), row.inputs.join(" "), row.source, row.module, who]
        .join(" ")
        .toLowerCase(),
    };
  }),
);

const shown = computed((): Line[] => {
  const words = app.search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const found = all.value.filter((line) => words.every((word) => line.text.includes(word)));
  const { column, descending } = app.sort.value;
  const key = columns.value.find((c) => c.id === column)?.key;
  if (!key) return found;
  const sign = descending ? -1 : 1;
  return found.sort((a, b) => {
    const [x, y] = [key(a), key(b)];
    return x === y ? a.index - b.index : x < y ? -sign : sign;
  });
});

function Header(): JSX.Element {
  const { column, descending } = app.sort.value;
  return (
    <div class="row head" role="row">
      {columns.value.map(({ id, name }) => (
        <div
          key={id}
          role="columnheader"
          class={`cell ${id}`}
          aria-sort={column === id ? (descending ? "descending" : "ascending") : "none"}
        >
          <button
            type="button"
            onClick={() => sortBy(id)}
            title={`Sort by ${name === "#" ? "position" : name.toLowerCase()}`}
          >
            {name}
            <span aria-hidden="true">{column === id ? (descending ? " ↓" : " ↑") : ""}</span>
          </button>
        </div>
      ))}
    </div>
  );
}

function Row(props: { line: Line; position: number }): JSX.Element {
  const { row, index, part, who } = props.line;
  const isSelected = app.node.value === row.name;
  const type = typesOf(row);
  return (
    <div
      class={`row ${isSelected ? "is-selected" : ""} ${part ? "is-part" : ""}`}
      style={part?.hue}
      role="row"
      aria-rowindex={props.position + 2}
      aria-selected={isSelected}
      onClick={() => selectNode(row.name)}
    >
      <div role="cell" class="cell index">
        {index}
      </div>
      {hasFates.value ? (
        <div role="cell" class="cell part" title={part?.name ?? TITLES[who]}>
          {part ? <PartLabel part={part} /> : who}
        </div>
      ) : null}
      <div role="cell" class="cell name" title={row.name}>
        {row.name}
      </div>
      <div role="cell" class="cell op" title={row.op}>
        <Swatch family={familyOf(row.op)} />
        {shortOp(row.op)}
      </div>
      <div role="cell" class="cell type" title={type}>
        {type}
      </div>
      <div role="cell" class="cell inputs" title={row.inputs.join(", ")}>
        {row.inputs.join(", ")}
      </div>
      <div role="cell" class="cell source" title={row.source}>
        {placeOf(row.source)}
      </div>
    </div>
  );
}

export function TableView(): JSX.Element {
  if (!rows.value) return <Waiting />;
  const list = shown.value;
  const active = list.findIndex((line) => line.row.name === app.node.value);
  const count =
    list.length === all.value.length
      ? plural(list.length, "node")
      : `${formatCount(list.length)} of ${formatCount(all.value.length)}`;
  return (
    <>
      <SearchBox
        label="Filter nodes"
        placeholder="Filter: name, operator, shape, source line"
        count={count}
      />
      <Virtual
        class={`table mono ${hasFates.value ? "has-parts" : ""}`}
        role="table"
        label="Nodes"
        count={list.length}
        rowHeight={26}
        active={active}
        header={<Header />}
        onMove={(i) => selectNode(list[i]!.row.name)}
        render={(i) => <Row key={list[i]!.index} line={list[i]!} position={i} />}
      />
      {list.length === 0 ? <p class="waiting">No node matches. Esc clears the filter.</p> : null}
    </>
  );
}
