// What is selected in a graph where that is no node: a group of nodes, an input or an output.
import type { JSX } from "preact";
import type { OpFamily } from "@sconce/types/index.js";
import { closeBox, openBox, selectNode } from "../actions.js";
import { boxAt, selectedBox } from "../graph.js";
import type { BoxKind, SceneBox } from "../graph/model.js";
import { FAMILY_LABELS, familyOf } from "../ui/families.js";
import { formatCount, plural } from "../ui/format.js";
import { LongName, Swatch } from "../ui/parts.js";

const KINDS: Readonly<Record<BoxKind, string>> = {
  module: "Module",
  stack: "Blocks that are alike",
  run: "Nodes in a row",
  part: "Delegate",
  node: "Node",
  input: "Input",
  output: "Output",
};

function Families(props: { box: SceneBox }): JSX.Element | null {
  const counts = new Map<OpFamily, number>();
  for (const [op, count] of props.box.ops)
    counts.set(familyOf(op), (counts.get(familyOf(op)) ?? 0) + count);
  if (counts.size === 0) return null;
  return (
    <section>
      <h3>What is in it</h3>
      <ul class="box-families">
        {[...counts]
          .sort((a, b) => b[1] - a[1])
          .map(([family, count]) => (
            <li key={family}>
              <Swatch family={family} />
              {FAMILY_LABELS[family]}
              <span class="num soft">{formatCount(count)}</span>
            </li>
          ))}
      </ul>
    </section>
  );
}

export function BoxSection(): JSX.Element | null {
  const box = boxAt(selectedBox.value);
  if (!box) return null;
  const isEnd = box.kind === "input" || box.kind === "output";
  return (
    <aside class="inspector" aria-label="Inspector">
      <header>
        <h2 class="mono">
          <LongName name={box.label} />
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
      <p class="soft">
        {KINDS[box.kind]}
        {box.kind === "stack" ? `, ${plural(box.count, "time")}` : ""}
      </p>
      <p>{isEnd ? <span class="mono">{box.type}</span> : box.sub}</p>
      <Families box={box} />
      {isEnd ? null : (
        <section>
          <button type="button" onClick={() => (box.isOpen ? closeBox : openBox)(box.id)}>
            {box.isOpen ? "Close" : "Open"}
          </button>
        </section>
      )}
    </aside>
  );
}
