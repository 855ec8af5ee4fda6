// Which of PyTorch's operators are covered, by the engine's own table: in a sentence, and each.
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import {
  coverageNote,
  coverageSentence,
  coverageWord,
  coveredOperators,
  featureSentence,
  listedCount,
  operatorPattern,
  type CoveredOperator,
} from "@sconce/lower/coverage.js";
import type { Meta } from "@sconce/types/index.js";
import { app } from "../state.js";
import { SortedTable, type Column } from "../ui/SortedTable.js";
import { SearchBox } from "./SearchBox.js";

const column = (id: "here" | "official", name: string, width: string): Column<CoveredOperator> => ({
  id,
  name,
  key: (row) => coverageWord(row, id),
  show: (row) => <span class={row[id] === "no" ? "is-lacking" : ""}>{coverageWord(row, id)}</span>,
  width,
});

const COLUMNS: readonly Column<CoveredOperator>[] = [
  {
    id: "name",
    name: "Operator",
    key: ({ name }) => name,
    show: ({ name }) => <span class="mono">{name.replace(/^aten::/, "")}</span>,
    title: ({ name }) => name,
    width: "minmax(9rem, 1.1fr)",
  },
  // On a phone names need the room, and what lowers runs here.
  { ...column("here", "Here", "4rem"), from: "narrow" },
  column("official", "Official", "5rem"),
  {
    id: "lacks",
    name: "Note",
    key: coverageNote,
    show: (row) => <span class="soft">{coverageNote(row).replace("aten::", "")}</span>,
    title: coverageNote,
    width: "minmax(8rem, 1fr)",
    from: "narrow",
    isBelow: true,
  },
];

export function OperatorsView(): JSX.Element {
  const meta = app.meta.value;
  return meta ? <Operators meta={meta} /> : <p class="soft">The engine is starting.</p>;
}

function Operators({ meta }: { meta: Meta }): JSX.Element {
  const [text, setText] = useState("");
  const all = useMemo(() => coveredOperators(meta), [meta]);
  const pattern = operatorPattern(text, meta);
  const rows = useMemo(
    () => all.filter(({ name }) => name.toLowerCase().includes(pattern)),
    [all, pattern],
  );
  const feature = featureSentence(pattern, meta);
  return (
    <div class="operators">
      <p>{coverageSentence(meta)}</p>
      <p class="soft">
        The official runtime is the one in apps. What a runtime has no kernel for runs all the same
        where it can be written with others that give PyTorch’s numbers; <em>limited</em>, where
        only some calls can. Forms that write in place, such as <span class="mono">add_</span>, go
        with <span class="mono">add</span>.
      </p>
      <SearchBox
        label="Search operators"
        placeholder="conv2d, torch.linalg.inv, F.gelu"
        count={listedCount(rows)}
        value={text}
        onText={setText}
      />
      <SortedTable
        label="Operators"
        rows={rows}
        columns={COLUMNS}
        by="name"
        isDescending={false}
        empty={feature || "No operator has that in its name."}
      />
    </div>
  );
}
