// The places of the nodes: the backends' share of the work, their parts, and the nodes that stayed
// outside with the reason, most work first.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { DelegationRow } from "@sconce/types/index.js";
import { ratio } from "@sconce/base/work.js";
import { selectNode, showSettings } from "../actions.js";
import {
  backendName,
  callerOf,
  methodDelegation,
  outside,
  outsideCount,
  parts,
  shares,
  sharesOf,
  type MethodDelegation,
  type Outside,
  type Part,
  type Shares,
} from "../delegates.js";
import { methodSummary } from "../derived.js";
import { app } from "../state.js";
import { familyOf } from "../ui/families.js";
import {
  formatBytes,
  formatCount,
  formatLarge,
  formatShare,
  plural,
  shortOp,
  splitSource,
} from "../ui/format.js";
import { Bar, Figure, FIRST, More, PartLabel, Swatch } from "../ui/parts.js";
import { SearchBox } from "./SearchBox.js";
import { Verified } from "./Verified.js";

// --- Shares --------------------------------------------------------------------------------------

function Measure(props: { name: string; share: number }): JSX.Element {
  return (
    <div class="measure">
      <dt>{props.name}</dt>
      <dd>
        <Bar share={props.share} />
        <span class="num">{formatShare(props.share)}</span>
      </dd>
    </div>
  );
}

function MethodShare(props: { name: string; of: MethodDelegation }): JSX.Element {
  const { name, of } = props;
  const { all, taken } = sharesOf(of);
  const backends = [...new Set(of.delegates.map(({ backend }) => backendName(backend)))];
  return (
    <li class={name === app.method.value ? "is-current" : ""}>
      <h3>
        <span class="mono">{name}</span>
        <span class="soft">
          {of.nodes.length === 0 ? "portable kernels" : backends.join(", ") || "no node was taken"}
        </span>
      </h3>
      {of.nodes.length === 0 ? (
        <p class="soft">No backend was chosen for it.</p>
      ) : (
        <dl>
          {all.macs > 0 ? (
            <Measure name="multiply-adds" share={ratio(taken.macs, all.macs)} />
          ) : null}
          <Measure name="bytes moved" share={ratio(taken.bytes, all.bytes)} />
          <Measure name="nodes" share={ratio(taken.nodes, all.nodes)} />
        </dl>
      )}
    </li>
  );
}

function MethodShares(): JSX.Element {
  return (
    <section>
      <h2>Share that backends took</h2>
      <ul class="shares">
        {Object.entries(app.delegation.value ?? {}).map(([name, of]) => (
          <MethodShare key={name} name={name} of={of} />
        ))}
      </ul>
    </section>
  );
}

// --- Parts ---------------------------------------------------------------------------------------

function PartRow(props: { part: Part; of: Shares }): JSX.Element {
  const { part, of } = props;
  const caller = callerOf(part);
  const label = <PartLabel part={part} />;
  return (
    <tr class={caller !== "" && caller === app.node.value ? "is-selected" : ""}>
      <th scope="row">
        {caller ? (
          <button type="button" class="link" onClick={() => selectNode(caller)}>
            {label}
          </button>
        ) : (
          label
        )}
      </th>
      <td class="mono part-name" title={part.backend}>
        {part.graph ? `${part.graph}/${part.name}` : part.name}
      </td>
      <td class="num">{formatCount(part.nodes)}</td>
      <td class="num">
        {of.all.macs > 0 ? formatShare(ratio(part.macs, of.all.macs)) : formatCount(part.macs)}
      </td>
      <td class="num">{formatShare(ratio(part.bytes, of.all.bytes))}</td>
      <td class="num">{formatBytes(part.processedBytes)}</td>
      <td class="num">{part.dataBytes > 0 ? formatBytes(part.dataBytes) : "–"}</td>
    </tr>
  );
}

function Parts(props: { of: Shares }): JSX.Element {
  const list = parts.value;
  const [shown, setShown] = useState(FIRST / 5);
  return (
    <section>
      <h2>
        Delegates <span class="soft">{formatCount(list.length)}</span>
      </h2>
      <div class="delegates-table">
        <table>
          <thead>
            <tr>
              <th scope="col">Delegate</th>
              <th scope="col" class="part-name">
                Name in the program
              </th>
              <th scope="col" class="num">
                Nodes
              </th>
              <th scope="col" class="num" title="Of all multiply-adds of the method">
                Mul-adds
              </th>
              <th scope="col" class="num" title="Of all bytes that nodes of the method move">
                Bytes
              </th>
              <th scope="col" class="num" title="The bytes that the backend made ahead of time">
                Blob
              </th>
              <th scope="col" class="num" title="Data under a name, which delegates may share">
                Named data
              </th>
            </tr>
          </thead>
          <tbody>
            {list.slice(0, shown).map((part, i) => (
              <PartRow key={i} part={part} of={props.of} />
            ))}
          </tbody>
        </table>
      </div>
      <More left={list.length - shown} onClick={() => setShown(shown + FIRST)} />
    </section>
  );
}

// --- Outside -------------------------------------------------------------------------------------

/** Shares of the method's multiply-adds and bytes; the former only if there are any. */
function WorkCells(props: { macs: number; bytes: number; of: Shares }): JSX.Element {
  const { macs, bytes, of } = props;
  return (
    <>
      <span class="num" title="Of all multiply-adds of the method">
        {of.all.macs > 0 ? formatShare(ratio(macs, of.all.macs)) : "0"}
      </span>
      <span class="num" title="Of all bytes that nodes of the method move">
        {formatShare(ratio(bytes, of.all.bytes))}
      </span>
    </>
  );
}

function OutsideNode(props: { row: DelegationRow; of: Shares }): JSX.Element {
  const { row } = props;
  const { place, code } = splitSource(row.source);
  const words = (
    <>
      <span class="mono outside-name">{row.graph ? `${row.graph}/${row.name}` : row.name}</span>
      <span class="mono soft outside-line" title={row.source}>
        {place}
        {code ? <code>{code}</code> : null}
      </span>
      <WorkCells macs={row.macs} bytes={row.bytes} of={props.of} />
    </>
  );
  // Names of bodies are their own, and may be those of other nodes outside.
  return row.graph ? (
    <li class="outside-node">{words}</li>
  ) : (
    <li>
      <button
        type="button"
        class="outside-node"
        aria-pressed={row.name === app.node.value}
        onClick={() => selectNode(row.name)}
      >
        {words}
      </button>
    </li>
  );
}

function OutsideGroup(props: { group: Outside; of: Shares; isOpen: boolean }): JSX.Element {
  const { group, of } = props;
  const [isOpen, setOpen] = useState(props.isOpen);
  const [shown, setShown] = useState(FIRST);
  return (
    <details
      class="outside-group"
      open={isOpen || props.isOpen}
      onToggle={(event) => setOpen(event.currentTarget.open)}
    >
      <summary>
        <span class="mono outside-op">
          <Swatch family={familyOf(group.op)} />
          {shortOp(group.op)}
          <span class="soft num">
            {" "}
            ×{"\u00a0"}
            {formatCount(group.nodes)}
          </span>
        </span>
        <span class="outside-why">
          <span>
            <span class="mono soft">{backendName(group.backend) || "no backend"}</span>{" "}
            {group.reason}
          </span>
          {group.hint ? <span class="outside-hint">{group.hint}</span> : null}
        </span>
        <WorkCells macs={group.macs} bytes={group.bytes} of={of} />
      </summary>
      {isOpen || props.isOpen ? (
        <>
          <ul>
            {group.rows.slice(0, shown).map((row, i) => (
              <OutsideNode key={i} row={row} of={of} />
            ))}
          </ul>
          <More left={group.rows.length - shown} onClick={() => setShown(shown + FIRST)} />
        </>
      ) : null}
    </details>
  );
}

/** Arrows go from row to row. */
function onKeyDown(event: KeyboardEvent): void {
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!by) return;
  const box = event.currentTarget as HTMLElement;
  const stops = [...box.querySelectorAll<HTMLElement>("summary, button")];
  const next = stops[stops.indexOf(event.target as HTMLElement) + by];
  if (!next) return;
  event.preventDefault();
  next.focus();
}

function OutsideList(props: { of: Shares }): JSX.Element {
  const groups = outside.value;
  const count = groups.reduce((sum, { nodes }) => sum + nodes, 0);
  const all = outsideCount.value;
  if (all === 0)
    return (
      <section>
        <h2>Not delegated</h2>
        <p class="soft">Every node of the method was taken.</p>
      </section>
    );
  const isFound = app.search.value !== "" && groups.length <= FIRST;
  return (
    <section class="outside">
      <h2>
        Not delegated <span class="soft">{plural(all, "node")}, run by the portable kernels</span>
      </h2>
      <SearchBox
        label="Filter nodes outside of delegates"
        placeholder="Filter: operator, node, source line, reason"
        count={count === all ? "" : `${formatCount(count)} of ${formatCount(all)}`}
      />
      <div onKeyDown={onKeyDown}>
        <div class="outside-head soft" aria-hidden="true">
          <span>Operator</span>
          <span>Reason and advice</span>
          <span>Mul-adds</span>
          <span>Bytes</span>
        </div>
        {groups.map((group) => (
          <OutsideGroup
            key={`${group.op}\n${group.reason}\n${group.hint}`}
            group={group}
            of={props.of}
            isOpen={isFound || groups.length === 1}
          />
        ))}
      </div>
      {groups.length === 0 ? <p class="waiting">No node matches. Esc clears the filter.</p> : null}
    </section>
  );
}

// --- All together --------------------------------------------------------------------------------

function Figures(props: { of: Shares }): JSX.Element {
  const { all, taken } = props.of;
  return (
    <dl class="figures">
      <Figure name="nodes delegated">
        {formatCount(taken.nodes)} of {formatCount(all.nodes)}
      </Figure>
      {all.macs > 0 ? (
        <Figure name="multiply-adds" title="Of matrix products and convolutions">
          {formatLarge(taken.macs)} of {formatLarge(all.macs)}
        </Figure>
      ) : null}
      <Figure name="bytes moved" title="Of the tensors that nodes read and write">
        {formatBytes(taken.bytes)} of {formatBytes(all.bytes)}
      </Figure>
      <Figure name="delegates">{formatCount(parts.value.length)}</Figure>
    </dl>
  );
}

function NotAsked(): JSX.Element {
  if (!methodSummary.value)
    return <p class="soft">This method returns a constant and has no operators.</p>;
  return (
    <div class="not-asked">
      <p>
        No backend was chosen for <span class="mono">{app.method.value}</span>: the portable kernels
        run all of it.
      </p>
      <button type="button" onClick={showSettings}>
        Choose a backend
      </button>
    </div>
  );
}

function Method(props: { of: Shares }): JSX.Element {
  const isEmpty = parts.value.length === 0;
  return (
    <>
      <Figures of={props.of} />
      {isEmpty ? (
        <p class="none-taken">
          No node was taken: the program runs as it would without a backend. The reasons are below.
        </p>
      ) : null}
      <MethodShares />
      {isEmpty ? null : <Verified key={`verified ${app.method.value}`} />}
      {isEmpty ? null : <Parts key={app.method.value} of={props.of} />}
      <OutsideList of={props.of} />
    </>
  );
}

export function DelegatesView(): JSX.Element {
  const of = shares.value;
  return (
    <div class="scroll delegates">
      {methodDelegation.value && of ? (
        <Method of={of} />
      ) : (
        <>
          <NotAsked />
          <MethodShares />
        </>
      )}
    </div>
  );
}
