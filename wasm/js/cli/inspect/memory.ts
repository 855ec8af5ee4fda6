// sconce inspect of a memory plan: how large each memory is, where it is fullest, and what lies there.
import { formatBytes } from "../../base/size.js";
import type { MemoryPlan, PlannedValue } from "../../types/index.js";
import { say } from "../common.js";
import { sayTable, type Cell } from "../print/table.js";

/** Values that are shown at the peak; all of them are in the JSON. */
const SHOWN = 10;

const isThere = (value: PlannedValue, instruction: number): boolean =>
  value.kind !== "view" &&
  value.from !== null &&
  value.from <= instruction &&
  instruction <= value.until!;

const rowOf = (v: PlannedValue): Cell[] => [
  v.value,
  v.bytes,
  v.memory,
  v.offset,
  `${v.dtype} [${v.shape.join(", ")}]`,
  v.first,
  v.last,
  v.kind,
  v.op,
  v.nodes.join(", "),
];

const HEADS = ["value", "bytes", "memory", "offset", "type", "first", "last", "kind", "written by"];

/** Prints where a method needs the most memory, and what for: the largest values first. */
export function sayMemory({ memories, peak, values, live }: MemoryPlan): void {
  const sizes = memories.map(({ id, bytes }) => `${formatBytes(bytes)} in ${id}`);
  if (sizes.length === 0 || peak === null) return;
  const { instruction, bytes, op } = peak;
  say(
    `  memory plan: ${sizes.join(", ")}; at most ${formatBytes(bytes)} at once, at instruction ${instruction} of ${live.length}${op ? `, ${op}` : ""}`,
  );
  const there = values.filter((value) => isThere(value, instruction));
  there.sort((a, b) => b.bytes - a.bytes || a.value - b.value);
  sayTable([...HEADS, "nodes"], there.slice(0, SHOWN).map(rowOf));
  if (there.length > SHOWN) say(`  and ${there.length - SHOWN} smaller ones`);
}
