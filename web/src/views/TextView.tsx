// The IR as text, coloured, with line numbers. A line that defines a node selects it.
import type { JSX } from "preact";
import { computed, signal } from "@preact/signals";
import { selectNode } from "../actions.js";
import { hasFates, partsOfLines } from "../delegates.js";
import { lines } from "../derived.js";
import { app } from "../state.js";
import { formatCount, plural } from "../ui/format.js";
import { PartLabel } from "../ui/parts.js";
import { nodeOfLine, pieces } from "../ui/syntax.js";
import { Virtual } from "../ui/Virtual.js";
import { SearchBox } from "./SearchBox.js";
import { Waiting } from "./Waiting.js";

const nodeLines = computed(() => (lines.value ?? []).map(nodeOfLine));

const partLines = computed(() => (hasFates.value ? partsOfLines(lines.value ?? []) : []));

/** Characters shown of a line: backends' bytes can make one longer than anybody reads. */
const SHOWN_MAX = 600;

const matches = computed((): readonly number[] => {
  const word = app.search.value.toLowerCase();
  if (!word) return [];
  return (lines.value ?? []).flatMap((line, i) => (line.toLowerCase().includes(word) ? [i] : []));
});

/** Which line the search stands on; follows from nothing else, so it is the view's own. */
const found = signal(-1);

function findNext(back: boolean): void {
  const list = matches.value;
  if (list.length === 0) return;
  const next = back
    ? (list.findLast((i) => i < found.value) ?? list.at(-1)!)
    : (list.find((i) => i > found.value) ?? list[0]!);
  found.value = next;
  if (nodeLines.value[next]) selectNode(nodeLines.value[next]!);
}

function TextLine(props: { index: number; active: number }): JSX.Element {
  const { index } = props;
  const line = lines.value![index]!;
  const node = nodeLines.value[index]!;
  const part = partLines.value[index];
  const more = line.length - SHOWN_MAX;
  const marks = [
    "line",
    part && "is-part",
    node && "is-node",
    index === props.active && "is-selected",
    matches.value.includes(index) && "is-found",
  ];
  return (
    <div
      class={marks.filter(Boolean).join(" ")}
      style={part?.hue}
      role="listitem"
      onClick={() => node && selectNode(node)}
    >
      <span class="line-number" aria-hidden="true">
        {index + 1}
      </span>
      {hasFates.value ? (
        <span class="line-part" title={part?.name}>
          {part && (node || line.endsWith("{")) ? <PartLabel part={part} /> : null}
        </span>
      ) : null}
      <code>
        {pieces(line.slice(0, SHOWN_MAX)).map(([kind, text], i) =>
          kind === "plain" ? (
            text
          ) : (
            <span key={i} class={`ir-${kind}`}>
              {text}
            </span>
          ),
        )}
        {more > 0 ? <em class="soft"> … {plural(more, "more character")}</em> : null}
      </code>
    </div>
  );
}

/** The next line from `start` towards `by` that defines a node. */
function nextNode(start: number, by: number): number {
  for (let i = start; i >= 0 && i < nodeLines.value.length; i += by)
    if (nodeLines.value[i]) return i;
  return -1;
}

export function TextView(): JSX.Element {
  if (!lines.value) return <Waiting />;
  const selected = app.node.value ? nodeLines.value.indexOf(app.node.value) : -1;
  const active = matches.value.includes(found.value) ? found.value : selected;
  const at = matches.value.indexOf(found.value);
  const count =
    app.search.value === ""
      ? plural(lines.value.length, "line")
      : `${at >= 0 ? `${formatCount(at + 1)} of ` : ""}${formatCount(matches.value.length)} found`;
  const move = (to: number): void => {
    found.value = -1;
    const next = nextNode(to, to >= active ? 1 : -1);
    if (next >= 0) selectNode(nodeLines.value[next]!);
  };
  return (
    <>
      <SearchBox
        label="Find in the text"
        placeholder="Find (Enter: next, Shift+Enter: previous)"
        count={count}
        onEnter={findNext}
      />
      <Virtual
        class="text mono"
        label="Program text"
        count={lines.value.length}
        rowHeight={20}
        active={active}
        onMove={move}
        render={(index) => <TextLine key={index} index={index} active={active} />}
      />
    </>
  );
}
