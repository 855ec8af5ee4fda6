// What is selected: its operator, shapes, the author's own line, where it lies in memory.
import type { JSX } from "preact";
import { computed } from "@preact/signals";
import type { NodeRow, PlanItem } from "@sconce/types/index.js";
import { ratio } from "@sconce/base/work.js";
import { followNode, selectNode, showNode } from "../actions.js";
import { callerOf, fateOf, nodesOf, partOf, shares, type Fate, type Part } from "../delegates.js";
import { innerRows, makers, plan, rows, selectedRow, stepBeside, view } from "../derived.js";
import { selectedGap } from "../profile.js";
import { app } from "../state.js";
import { familyOf, FAMILY_LABELS } from "../ui/families.js";
import {
  formatBytes,
  formatCount,
  formatFigure,
  formatShare,
  formatSnr,
  formatType,
  plural,
  splitSource,
} from "../ui/format.js";
import { LongName, PartLabel, Swatch } from "../ui/parts.js";
import { BoxSection } from "./BoxSection.js";
import { STEP_NAMES } from "./words.js";

const users = computed((): readonly NodeRow[] => {
  const names = new Set(selectedRow.value?.outputs.map((out) => out.name));
  const all = [...(rows.value ?? []), ...(innerRows.value ?? [])];
  const found = all.filter((row) => row.inputs.some((input) => names.has(input)));
  // Nodes beside a part are in both lists.
  return [...new Map(found.map((row) => [row.name, row])).values()];
});

const places = computed((): readonly PlanItem[] => {
  const names = new Set(selectedRow.value?.outputs.map((out) => out.name));
  return app.step.value === "executorch"
    ? (plan.value?.items.filter((item) => names.has(item.value)) ?? [])
    : [];
});

function Names(props: {
  title: string;
  names: readonly { label: string; node: string }[];
}): JSX.Element | null {
  if (props.names.length === 0) return null;
  return (
    <section>
      <h3>{props.title}</h3>
      <ul class="names mono">
        {props.names.map(({ label, node }, i) => (
          <li key={i}>
            {node ? (
              <button type="button" class="link" onClick={() => selectNode(node)}>
                <LongName name={label} />
              </button>
            ) : (
              <span>
                <LongName name={label} />
              </span>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Innermost of "key,path,class;key,path,class": where in the model, and what stands there. */
function moduleOf(stack: string): { path: string; type: string } {
  const [, path, type] = stack.split(";").at(-1)!.split(",");
  return { path: path || "the model itself", type: type?.split(".").at(-1) ?? "" };
}

/** Nodes of a part that are named; the rest is counted. */
const NAMED = 20;

/** What a call hands over. */
function PartSection(props: { part: Part }): JSX.Element {
  const { part } = props;
  const nodes = nodesOf(part);
  return (
    <section>
      <h3>Delegate</h3>
      <p class="mono">
        <PartLabel part={part} />
      </p>
      <p>
        {part.backend} runs {plural(part.nodes, "node")} in one call, from{" "}
        {formatBytes(part.processedBytes)} that it made ahead of time
        {part.dataBytes > 0 ? ` and ${formatBytes(part.dataBytes)} of named data` : ""}.
      </p>
      <ul class="names mono">
        {nodes.slice(0, NAMED).map(({ name, op }) => (
          <li key={name}>
            <button
              type="button"
              class="link"
              title={op}
              onClick={() => showNode("edge", app.method.value, name)}
            >
              <LongName name={name} />
            </button>
          </li>
        ))}
      </ul>
      {nodes.length > NAMED ? (
        <p class="soft">and {formatCount(nodes.length - NAMED)} more, shaded in Edge</p>
      ) : null}
    </section>
  );
}

/** Share of the method's work, in what a node has of it. */
function Share(props: { macs: number; bytes: number }): JSX.Element {
  const all = shares.value!.all;
  const parts = [
    props.macs > 0 ? `${formatShare(ratio(props.macs, all.macs))} of the multiply-adds` : "",
    `${formatShare(ratio(props.bytes, all.bytes))} of the bytes moved`,
  ];
  return <p class="soft">{parts.filter(Boolean).join(", ")}</p>;
}

/** Which backend took a node, or why none did. */
function FateSection(props: { fate: Fate }): JSX.Element {
  const { row, part } = props.fate;
  const step = app.step.value;
  return (
    <section>
      <h3>{part ? "Delegated to" : "Not delegated"}</h3>
      {part ? (
        <p class="mono">
          {callerOf(part) ? (
            <button type="button" class="link" onClick={() => selectNode(callerOf(part))}>
              <PartLabel part={part} />
            </button>
          ) : (
            <PartLabel part={part} />
          )}
        </p>
      ) : (
        <>
          <p>
            {row.backend ? <span class="mono soft">{row.backend}: </span> : null}
            {row.reason}
          </p>
          {row.hint ? <p class="outside-hint">{row.hint}</p> : null}
        </>
      )}
      <Share macs={row.macs} bytes={row.bytes} />
      {step === "delegated" ? (
        <button
          type="button"
          class="link show-node"
          onClick={() => showNode("edge", app.method.value, row.name)}
        >
          Show among the nodes of Edge
        </button>
      ) : null}
    </section>
  );
}

function SourceLine(props: { row: NodeRow }): JSX.Element | null {
  const { source } = props.row;
  const module = props.row.module ? moduleOf(props.row.module) : null;
  const { place, code } = splitSource(source);
  return (
    <>
      {source ? (
        <section>
          <h3>Source line</h3>
          <p class="mono">{place}</p>
          {code ? <code class="quote">{code}</code> : null}
        </section>
      ) : null}
      {module ? (
        <section>
          <h3>Module</h3>
          <p class="mono">
            {module.path} <span class="soft">{module.type}</span>
          </p>
        </section>
      ) : null}
    </>
  );
}

/** How far what the node gave is from its reference. */
function GapSection(): JSX.Element | null {
  const found = selectedGap.value;
  if (!found) return null;
  return (
    <section>
      <h3>Beside its reference</h3>
      <p class="mono">
        {formatSnr(found.snr)}
        <span class="soft"> largest difference {formatFigure(found.max)}</span>
      </p>
    </section>
  );
}

/** The way to the same node in the versions before and after. */
function Follow(props: { row: NodeRow }): JSX.Element | null {
  const step = app.step.value;
  const beside = ([-1, 1] as const).flatMap((by) => {
    const target = stepBeside(step, by);
    return target ? [{ by, target }] : [];
  });
  if (beside.length === 0) return null;
  return (
    <section>
      <h3>The same node in</h3>
      <p class="follow">
        {beside.map(({ by, target }) => (
          <button
            key={by}
            type="button"
            class="link"
            onClick={() => void followNode(props.row, by)}
            title={by < 0 ? "The stage before (<)" : "The stage after (>)"}
          >
            {by < 0 ? "← " : ""}
            {STEP_NAMES[target]}
            {by > 0 ? " →" : ""}
          </button>
        ))}
      </p>
    </section>
  );
}

export function Inspector(): JSX.Element | null {
  const row = selectedRow.value;
  if (!row) return app.box.value && view.value === "graph" ? <BoxSection /> : null;
  const fate = fateOf(row.name);
  const called = fate ? undefined : partOf(row);
  return (
    <aside class="inspector" aria-label="Inspector">
      <header>
        <h2 class="mono">
          <LongName name={row.name} />
        </h2>
        <button
          type="button"
          class="icon close"
          aria-label="Clear the selection"
          title="Clear (Esc)"
          onClick={() => selectNode("")}
        >
          ×
        </button>
      </header>
      <p class="mono">
        <LongName name={row.op} />
      </p>
      <p class="soft">
        <Swatch family={familyOf(row.op)} />
        {FAMILY_LABELS[familyOf(row.op)]}
      </p>
      <Follow row={row} />
      <GapSection />
      {fate ? <FateSection fate={fate} /> : null}
      {called ? <PartSection part={called} /> : null}
      <section>
        <h3>{row.outputs.length === 1 ? "Result" : "Results"}</h3>
        <ul class="names mono">
          {row.outputs.map((out) => (
            <li key={out.name}>
              {row.outputs.length > 1 ? <LongName name={`${out.name}: `} /> : null}
              {formatType(out, app.dtypes.value)}
            </li>
          ))}
        </ul>
      </section>
      <Names
        title="Inputs"
        names={row.inputs.map((name) => ({
          label: name,
          node: makers.value.get(name)?.name ?? "",
        }))}
      />
      <Names
        title="Used by"
        names={users.value.map((user) => ({ label: user.name, node: user.name }))}
      />
      <SourceLine row={row} />
      {places.value.map((place) => (
        <section key={place.value}>
          <h3>In memory</h3>
          <p class="mono">
            {formatBytes(place.bytes)} at {place.offset}, moments {place.first} to {place.last}
          </p>
        </section>
      ))}
    </aside>
  );
}
