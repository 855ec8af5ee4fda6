// What the tables of sconce inspect have in common: names of blocks, lists of names, lines.
import type { EventBlock, InspectorNode } from "../../types/index.js";

const OPS_SHOWN = 3;

/** The first names, and how many there are besides. */
export function some(names: readonly string[], most = OPS_SHOWN): string {
  const rest = names.length - most;
  return names.slice(0, most).join(", ") + (rest > 0 ? `, and ${rest} more` : "");
}

/** The first line of the user's that is known. */
export const sourceOf = (nodes: readonly InspectorNode[]): string =>
  nodes.find(({ source }) => source !== "")?.source ?? "";

const plainLabel = ({ name, method }: EventBlock): string =>
  name + (method === null ? "" : ` of method ${method}`);

/** Runs in the dump, counted from 0: "runs 0-3, 7". */
function runsAt(indices: readonly number[]): string {
  const parts: string[] = [];
  for (let i = 0; i < indices.length; i++) {
    const first = indices[i]!;
    while (indices[i + 1] === indices[i]! + 1) i++;
    parts.push(first === indices[i] ? `${first}` : `${first}-${indices[i]}`);
  }
  return `run${indices.length === 1 ? "" : "s"} ${some(parts)}`;
}

/** What each block is called: those that look equal by their runs, or the number of the test case. */
export function blockLabels(blocks: readonly EventBlock[]): string[] {
  const counts = new Map<string, number>();
  for (const block of blocks) {
    const label = plainLabel(block);
    counts.set(label, (counts.get(label) ?? 0) + 1);
  }
  return blocks.map((block) => {
    const label = plainLabel(block);
    if (counts.get(label) === 1) return label;
    const ofCase = block.bundledInputIndex < 0 ? "" : `case ${block.bundledInputIndex}, `;
    return `${label} (${ofCase}${runsAt(block.runIndices)})`;
  });
}
