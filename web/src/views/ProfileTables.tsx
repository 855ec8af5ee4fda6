// A profile as tables: events, totals by operator and by module, delegates, and two dumps side by
// side.
import type { JSX } from "preact";
import type { ComparedEvent, DelegationTotals, InspectorTotal } from "@sconce/types_inspector.js";
import { compareProfiles, selectEvent } from "../actions.js";
import {
  eventName,
  eventRows,
  familyOfEvent,
  opOf,
  opsText,
  profile,
  tickOf,
  type EventRow,
} from "../profile.js";
import { app, type Profile } from "../state.js";
import { familyOf } from "../ui/families.js";
import { formatCount, formatFigure, formatShare, plural, splitSource } from "../ui/format.js";
import { Bar, Swatch } from "../ui/parts.js";
import { SortedTable, type Column } from "../ui/SortedTable.js";
import { formatTime, tellTimes, type Tell } from "./times.js";

const tellerOf = ({ report, timeline }: Profile): Tell =>
  tellTimes(report.targetTimeScale, tickOf(timeline));

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
    isExtra: id !== "avg",
    width: "5.25rem",
  });
  return [
    {
      id: "index",
      name: "#",
      key: (r) => r.it.instruction,
      show: (r) => (r.it.chain < 0 ? "" : r.it.instruction),
      isNumber: true,
      isExtra: true,
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
      isExtra: true,
      width: "3.5rem",
    },
    {
      id: "source",
      name: "Source line",
      key: sourceOf,
      show: (r) => splitSource(sourceOf(r)).place,
      title: sourceOf,
      isExtra: true,
      width: "minmax(8rem, 1.2fr)",
    },
  ];
}

export function EventTable(props: { shown: Profile }): JSX.Element {
  const words = app.search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const rows = eventRows.value.filter(({ it }) => {
    const names = it.nodes.map(({ name, source }) => `${name} ${source}`).join(" ");
    const text = `${it.name} ${opsText(it)} ${it.backend ?? ""} ${names}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
  const at = app.event.value;
  return (
    <SortedTable
      label="Events"
      rows={rows}
      columns={eventColumns(tellerOf(props.shown))}
      by="avg"
      isDescending
      isActive={({ block, event }) => at?.block === block && at.event === event}
      onPick={({ block, event }) => selectEvent(block, event)}
      empty={words.length > 0 ? "No event matches." : "The dump has no events with times."}
    />
  );
}

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
          <Swatch family={familyOf(opOf(r.name))} />
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
    isExtra: true,
    width: "minmax(6rem, 1fr)",
  };
  const self: Column<InspectorTotal> = {
    id: "self",
    name: "Its own",
    key: (r) => r.self,
    show: (r) => tell(r.self),
    isNumber: true,
    isExtra: true,
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
      isExtra: true,
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
      isExtra: true,
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
      isExtra: true,
      width: "minmax(4rem, 1fr)",
    },
  ];
}

export function TotalTable(props: { shown: Profile; kind: "ops" | "modules" }): JSX.Element {
  const { shown, kind } = props;
  return (
    <SortedTable
      key={kind}
      label={kind === "ops" ? "Time by operator" : "Time by module"}
      rows={shown[kind]}
      columns={totalColumns(tellerOf(shown), kind === "modules")}
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

// --- Delegates ---------------------------------------------------------------------------------------

/** A call of a backend, and what it did meanwhile. */
interface Call {
  row: EventRow;
  inner: readonly EventRow[];
}

function callsOf(rows: readonly EventRow[]): Call[] {
  const isCall = ({ it }: EventRow): boolean =>
    it.backend !== null && (!it.isDelegated || it.parent === null);
  return rows.filter(isCall).map((row) => {
    const inner = rows.filter(
      ({ block, it }) =>
        block === row.block &&
        it.isDelegated &&
        it.instruction === row.it.instruction &&
        it !== row.it,
    );
    return { row, inner: inner.sort((a, b) => b.it.perf!.avg - a.it.perf!.avg) };
  });
}

/** Parts of a delegate that are listed; the rest is counted. */
const LISTED = 12;

/** Nodes that a call stands for: those of its delegate in the record, as they were handed over. */
function nodesOf({ of, it }: EventRow): number {
  const totals = profile.value?.delegation.find(({ method }) => method === of.method);
  const own = totals?.delegates.find(({ instruction }) => instruction === it.instruction);
  return own?.nodes.length ?? it.nodes.length;
}

function CallSection(props: { call: Call; tell: Tell }): JSX.Element {
  const { call, tell } = props;
  const { it, block, event } = call.row;
  const total = it.perf!.avg;
  const rest = call.inner.slice(LISTED);
  return (
    <section class="delegate-call">
      <h3>
        <button type="button" class="link mono" onClick={() => selectEvent(block, event)}>
          {it.backend}
        </button>
        <span class="soft">
          {it.instruction >= 0 ? ` instruction ${it.instruction}, ` : " "}
          {plural(nodesOf(call.row), "node")}
        </span>
        <span class="num">{tell(total)}</span>
      </h3>
      {call.inner.length === 0 ? (
        <p class="soft">The backend does not say what it does inside of it.</p>
      ) : null}
      <ul class="ops">
        {call.inner.slice(0, LISTED).map((row) => (
          <li key={row.event}>
            <span />
            <button
              type="button"
              class="link mono op-name"
              title={row.it.metadata ?? row.it.name}
              onClick={() => selectEvent(row.block, row.event)}
            >
              {row.it.name}
            </button>
            <Bar share={total > 0 ? row.it.perf!.avg / total : 0} />
            <span class="num">{tell(row.it.perf!.avg)}</span>
          </li>
        ))}
      </ul>
      {rest.length > 0 ? <p class="soft">and {formatCount(rest.length)} more in Events</p> : null}
    </section>
  );
}

function Totals(props: { totals: DelegationTotals }): JSX.Element {
  const { delegatedNodes, nonDelegatedNodes, delegatedSubgraphs, rows, method } = props.totals;
  return (
    <section>
      <h3>
        <span class="mono">{method}</span>
        <span class="soft">
          {" "}
          {plural(delegatedSubgraphs, "delegate")}, {plural(delegatedNodes, "node")} in them,{" "}
          {formatCount(nonDelegatedNodes)} outside
        </span>
      </h3>
      <ul class="ops in-and-out">
        <li class="soft">
          <span />
          <span>Operator</span>
          <span class="num">in delegates</span>
          <span class="num">outside</span>
        </li>
        {rows.map(({ op, delegated, nonDelegated }) => (
          <li key={op}>
            <Swatch family={familyOf(opOf(op))} />
            <span class="mono op-name" title={op}>
              {op}
            </span>
            <span class="num" title="in delegates">
              {delegated > 0 ? formatCount(delegated) : ""}
            </span>
            <span class="num soft" title="outside of them">
              {nonDelegated > 0 ? formatCount(nonDelegated) : ""}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

export function Delegates(props: { shown: Profile }): JSX.Element {
  const { shown } = props;
  const calls = callsOf(eventRows.value);
  if (calls.length === 0 && shown.delegation.length === 0)
    return <p class="waiting">No backend took part: the portable kernels ran everything.</p>;
  return (
    <div class="scroll profile-columns">
      <div>
        <h2>Where the time of delegates goes</h2>
        {calls.length === 0 ? <p class="soft">The dump has no calls of delegates.</p> : null}
        {calls.map((call) => (
          <CallSection
            key={`${call.row.block}/${call.row.event}`}
            call={call}
            tell={tellerOf(shown)}
          />
        ))}
      </div>
      <div>
        {shown.delegation.length > 0 ? <h2>Operators in delegates, and outside</h2> : null}
        {shown.delegation.map((totals) => (
          <Totals key={totals.method} totals={totals} />
        ))}
      </div>
    </div>
  );
}

// --- Two dumps ---------------------------------------------------------------------------------------

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
      isExtra: true,
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
      show: (r) => (r.noise === null ? "one run" : `±${tell(r.noise)}`),
      isNumber: true,
      isExtra: true,
      width: "6rem",
    },
    {
      id: "isSignificant",
      name: "Beyond it",
      key: (r) => (r.isSignificant === null ? null : Number(r.isSignificant)),
      show: (r) => (r.isSignificant === null ? "" : r.isSignificant ? "yes" : "no"),
      isExtra: true,
      width: "5rem",
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

export function Compare(): JSX.Element {
  const list = app.profiles.value;
  if (list.length < 2)
    return (
      <p class="waiting">Drop a second dump, or profile here once more, and the two stand here.</p>
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
            {formatTime(total.b!.perf.avg, found.scale)}
            {total.ratio === null ? "" : `, ×${formatFigure(total.ratio)}`}
            {total.isSignificant === false ? ", within the noise" : ""}
          </p>
        ))}
      </div>
      {found ? (
        <SortedTable
          label="Two dumps"
          rows={found.rows}
          columns={comparedColumns((time) => formatTime(time, found.scale), several)}
          by=""
          isDescending
          empty="The two have no event in common."
        />
      ) : null}
    </>
  );
}
