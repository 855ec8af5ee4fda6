// Two dumps side by side.
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { ComparedEvent } from "@sconce/types/index.js";
import { compareProfiles } from "../actions.js";
import { profile } from "../profile.js";
import { app } from "../state.js";
import { formatFigure } from "../ui/format.js";
import { SortedTable, type Column } from "../ui/SortedTable.js";
import { formatTime, type Tell } from "./times.js";

function comparedColumns(tell: Tell, several: boolean): Column<ComparedEvent>[] {
  const named = (r: ComparedEvent): string =>
    several ? `${r.method ?? "unknown"}: ${r.name}` : r.name;
  const avg = (id: "a" | "b", name: string): Column<ComparedEvent> => ({
    id,
    name,
    key: (r) => r[id]?.perf.avg ?? null,
    show: (r) => (r[id] ? tell(r[id].perf.avg) : "not there"),
    isNumber: true,
    width: "5.5rem",
  });
  const signed = (value: number): string => `${value > 0 ? "+" : ""}${tell(value)}`;
  return [
    {
      id: "name",
      name: "Event",
      key: named,
      show: named,
      title: named,
      width: "minmax(9rem, 1.3fr)",
    },
    {
      id: "ops",
      name: "Stands for",
      key: (r) => r.ops.join(),
      show: (r) => r.ops.join(", "),
      title: (r) => r.source,
      from: "wide",
      width: "minmax(8rem, 1.2fr)",
    },
    avg("a", "First"),
    avg("b", "Second"),
    {
      id: "difference",
      name: "Difference",
      key: (r) => r.difference,
      show: (r) => (r.difference === null ? "" : signed(r.difference)),
      isNumber: true,
      from: "wide",
      width: "6rem",
    },
    {
      id: "ratio",
      name: "Ratio",
      key: (r) => r.ratio,
      show: (r) => (r.ratio === null ? "" : `×${formatFigure(r.ratio)}`),
      isNumber: true,
      width: "4.5rem",
    },
    {
      id: "noise",
      name: "Noise",
      key: (r) => r.noise,
      show: (r) => (r.noise === null ? "not enough runs" : `±${tell(r.noise)}`),
      isNumber: true,
      from: "wide",
      width: "6rem",
    },
    {
      id: "isSignificant",
      name: "Beyond noise",
      key: (r) => (r.isSignificant === null ? null : Number(r.isSignificant)),
      show: (r) => (r.isSignificant === null ? "" : r.isSignificant ? "yes" : "no"),
      from: "wide",
      width: "6.75rem",
    },
  ];
}

function Choice(props: {
  label: string;
  value: number;
  onChange: (id: number) => void;
}): JSX.Element {
  return (
    <label class="inline">
      <span class="soft">{props.label}</span>
      <select value={props.value} onChange={(e) => props.onChange(Number(e.currentTarget.value))}>
        {app.profiles.value.map(({ id, title }) => (
          <option key={id} value={id}>
            {title}
          </option>
        ))}
      </select>
    </label>
  );
}

type Comparison = NonNullable<NonNullable<typeof app.comparison.value>["found"]>;

function ComparedTable({ found }: { found: Comparison }): JSX.Element {
  const columns = useMemo(
    () => comparedColumns((time) => formatTime(time, found.scale), found.methods.length > 1),
    [found],
  );
  return (
    <SortedTable
      label="Two dumps"
      rows={found.rows}
      columns={columns}
      by=""
      isDescending
      empty="The two have no event in common."
    />
  );
}

export function Compare(): JSX.Element {
  const list = app.profiles.value;
  if (list.length < 2)
    return (
      <p class="waiting">
        {app.program.value
          ? "Drop a second dump, or profile here once more, to see the two side by side."
          : "Drop a second dump to see the two side by side."}
      </p>
    );
  const last = profile.value!.id;
  const { a, b, found } = app.comparison.value ?? {
    a: list.find(({ id }) => id !== last)!.id,
    b: last,
    found: null,
  };
  const several = (found?.methods.length ?? 0) > 1;
  return (
    <>
      <div class="compare-head">
        <Choice label="first" value={a} onChange={(id) => void compareProfiles(id, b)} />
        <Choice label="second" value={b} onChange={(id) => void compareProfiles(a, id)} />
        {found ? null : (
          <button type="button" class="primary" onClick={() => void compareProfiles(a, b)}>
            Compare
          </button>
        )}
        {found?.methods.map(({ method, total }) => (
          <p class="num" role="status" key={method}>
            {several ? `${method ?? "unknown"}: ` : ""}
            {formatTime(total.a!.perf.avg, found.scale)} →{" "}
            {formatTime(total.b!.perf.avg, found.scale)} on average
            {total.ratio === null ? "" : `, ×${formatFigure(total.ratio)}`}
            {total.isSignificant === false ? ", within the noise" : ""}
          </p>
        ))}
      </div>
      {found ? <ComparedTable found={found} /> : null}
    </>
  );
}
