// The events of a profile as a table.
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { selectEvent } from "../actions.js";
import { eventName, eventRows, familyOfEvent, opsText, type EventRow } from "../profile.js";
import { app, type Profile } from "../state.js";
import { formatCount, splitSource } from "../ui/format.js";
import { Swatch } from "../ui/parts.js";
import { SortedTable, type Column } from "../ui/SortedTable.js";
import { tellerOf, type Tell } from "./times.js";

function Name(props: { event: EventRow["it"] }): JSX.Element {
  const { event } = props;
  const family = familyOfEvent(event);
  return (
    <>
      {family ? <Swatch family={family} /> : null}
      {eventName(event)}
    </>
  );
}

const sourceOf = (row: EventRow): string => row.it.nodes[0]?.source ?? "";

function eventColumns(tell: Tell): Column<EventRow>[] {
  const time = (id: "avg" | "p50" | "p90" | "min" | "max", name: string): Column<EventRow> => ({
    id,
    name,
    key: ({ it }) => it.perf![id],
    show: ({ it }) => tell(it.perf![id]),
    isNumber: true,
    from: id === "avg" ? "phone" : "wide",
    width: "5.25rem",
  });
  return [
    {
      id: "index",
      name: "#",
      key: (r) => r.it.instruction,
      show: (r) => (r.it.chain < 0 ? "" : r.it.instruction),
      isNumber: true,
      from: "wide",
      width: "3.5rem",
    },
    {
      id: "name",
      name: "Event",
      key: (r) => r.it.name,
      show: (r) => <Name event={r.it} />,
      title: (r) => r.it.name,
      width: "minmax(10rem, 1.4fr)",
    },
    {
      id: "ops",
      name: "Stands for",
      key: (r) => opsText(r.it),
      show: (r) => opsText(r.it),
      title: (r) => opsText(r.it),
      width: "minmax(9rem, 1.4fr)",
    },
    time("avg", "Average"),
    time("p50", "p50"),
    time("p90", "p90"),
    time("min", "Least"),
    time("max", "Most"),
    {
      id: "runs",
      name: "Runs",
      key: (r) => r.it.perf!.raw.length,
      show: (r) => formatCount(r.it.perf!.raw.length),
      isNumber: true,
      from: "wide",
      width: "3.5rem",
    },
    {
      id: "threads",
      name: "Threads",
      key: (r) => r.it.threads,
      show: (r) => r.it.threads ?? "",
      isNumber: true,
      from: "wide",
      width: "4.5rem",
    },
    {
      id: "source",
      name: "Source line",
      key: sourceOf,
      show: (r) => splitSource(sourceOf(r)).place,
      title: sourceOf,
      from: "wide",
      width: "minmax(8rem, 1.2fr)",
    },
  ];
}

/** Has it every word, wherever? */
function hasWords({ it }: EventRow, words: readonly string[]): boolean {
  const names = it.nodes.map(({ name, source }) => `${name} ${source}`).join(" ");
  const text = `${it.name} ${opsText(it)} ${it.backend ?? ""} ${names}`.toLowerCase();
  return words.every((word) => text.includes(word));
}

export function EventTable({ shown }: { shown: Profile }): JSX.Element {
  const search = app.search.value.toLowerCase();
  const all = eventRows.value;
  const rows = useMemo(() => {
    const words = search.split(/\s+/).filter(Boolean);
    return all.filter((row) => hasWords(row, words));
  }, [all, search]);
  const columns = useMemo(() => eventColumns(tellerOf(shown)), [shown]);
  const at = app.event.value;
  return (
    <SortedTable
      label="Events"
      rows={rows}
      columns={columns}
      by="avg"
      isDescending
      isActive={({ block, event }) => at?.block === block && at.event === event}
      onPick={({ block, event }) => selectEvent(block, event)}
      empty={search.trim() ? "No event matches." : "The dump has no events with times."}
    />
  );
}
