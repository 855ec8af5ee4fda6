// A profile by operator and by module.
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { InspectorTotal } from "@sconce/types/inspector.js";
import { opOf } from "../profile.js";
import { app, type Profile } from "../state.js";
import { familyOf } from "../ui/families.js";
import { formatCount, formatShare } from "../ui/format.js";
import { Bar, Swatch } from "../ui/parts.js";
import { SortedTable, type Column } from "../ui/SortedTable.js";
import { tellerOf, type Tell } from "./times.js";

/** Names of backends and of what happens in them are no operators, and of no family. */
const isOp = (name: string): boolean => app.families.value.has(opOf(name)) || /^\w+\.\w/.test(name);

function totalColumns(tell: Tell, isModules: boolean): Column<InspectorTotal>[] {
  const name: Column<InspectorTotal> = {
    id: "name",
    name: isModules ? "Module" : "Operator",
    key: (r) => r.name,
    show: (r) =>
      isModules ? (
        r.name || "the model itself"
      ) : (
        <>
          {isOp(r.name) ? <Swatch family={familyOf(opOf(r.name))} /> : null}
          {r.name}
        </>
      ),
    title: (r) => r.name,
    width: "minmax(9rem, 1.6fr)",
  };
  const kind: Column<InspectorTotal> = {
    id: "class",
    name: "Class",
    key: (r) => r.class,
    show: (r) => r.class.split(".").at(-1) ?? "",
    title: (r) => r.class,
    from: "wide",
    width: "minmax(6rem, 1fr)",
  };
  const self: Column<InspectorTotal> = {
    id: "self",
    name: "Its own",
    key: (r) => r.self,
    show: (r) => tell(r.self),
    isNumber: true,
    from: "wide",
    width: "5.5rem",
  };
  return [
    name,
    ...(isModules ? [kind] : []),
    {
      id: "events",
      name: "Events",
      key: (r) => r.events,
      show: (r) => formatCount(r.events),
      isNumber: true,
      from: "wide",
      width: "4.5rem",
    },
    {
      id: "time",
      name: "Time",
      key: (r) => r.time,
      show: (r) => tell(r.time),
      isNumber: true,
      width: "5.5rem",
    },
    ...(isModules ? [self] : []),
    {
      id: "delegated",
      name: "Delegated",
      key: (r) => r.delegated,
      show: (r) => (r.delegated > 0 ? tell(r.delegated) : ""),
      isNumber: true,
      from: "wide",
      width: "5.5rem",
    },
    {
      id: "share",
      name: "Share",
      key: (r) => r.share,
      show: (r) => formatShare(r.share),
      isNumber: true,
      width: "5.25rem",
    },
    {
      id: "bar",
      name: "",
      key: (r) => r.share,
      show: (r) => <Bar share={r.share} />,
      from: "wide",
      width: "minmax(4rem, 1fr)",
    },
  ];
}

export function TotalTable(props: { shown: Profile; kind: "ops" | "modules" }): JSX.Element {
  const { shown, kind } = props;
  const columns = useMemo(() => totalColumns(tellerOf(shown), kind === "modules"), [shown, kind]);
  return (
    <SortedTable
      key={kind}
      label={kind === "ops" ? "Time by operator" : "Time by module"}
      rows={shown[kind]}
      columns={columns}
      by="time"
      isDescending
      empty={
        shown.report.etrecord
          ? "Nothing in the dump belongs to a node of the record."
          : "Which operators and modules these events stand for is in the .etrecord of the program: drop it."
      }
    />
  );
}
