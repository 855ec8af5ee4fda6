// What backends did in a profile, call by call, and which operators went to them.
import type { JSX } from "preact";
import type { DelegationTotals } from "@sconce/types/inspector.js";
import { selectEvent } from "../actions.js";
import { eventRows, opOf, profile, type EventRow } from "../profile.js";
import type { Profile } from "../state.js";
import { familyOf } from "../ui/families.js";
import { formatCount, plural } from "../ui/format.js";
import { Bar, Swatch } from "../ui/parts.js";
import { tellerOf, type Tell } from "./times.js";

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
          {plural(delegatedSubgraphs, "delegate")}, {plural(delegatedNodes, "node")} in{" "}
          {delegatedSubgraphs === 1 ? "it" : "them"}, {formatCount(nonDelegatedNodes)} outside
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
