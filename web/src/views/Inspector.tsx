// What is selected: its operator, shapes, the author's own line, where it lies in memory.
import type { JSX } from "preact";
import { computed } from "@preact/signals";
import type { NodeRow, PlanItem } from "@sconce/types.js";
import { selectNode } from "../actions.js";
import { makers, plan, rows } from "../derived.js";
import { app } from "../state.js";
import { familyOf, FAMILY_LABELS } from "../ui/families.js";
import { formatBytes, formatType, splitSource } from "../ui/format.js";
import { LongName, Swatch } from "../ui/parts.js";

const selected = computed(() => (rows.value ?? []).find((row) => row.name === app.node.value));

const users = computed((): readonly NodeRow[] => {
  const names = new Set(selected.value?.outputs.map((out) => out.name));
  return names.size === 0
    ? []
    : (rows.value ?? []).filter((row) => row.inputs.some((input) => names.has(input)));
});

const places = computed((): readonly PlanItem[] => {
  const names = new Set(selected.value?.outputs.map((out) => out.name));
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

export function Inspector(): JSX.Element | null {
  const row = selected.value;
  if (!row) return null;
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
