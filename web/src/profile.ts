// Values derived from the state for the profile that is shown.
import { computed } from "@preact/signals";
import type {
  EventBlock,
  Gap,
  GapRow,
  InspectorEvent,
  InspectorNode,
  OpFamily,
  Timeline,
} from "@sconce/types/index.js";
import { innerRows, rows, selectedRow } from "./derived.js";
import { app, type MethodGap, type Profile } from "./state.js";
import { familyOf } from "./ui/families.js";

export const profile = computed((): Profile | undefined =>
  app.profiles.value.find(({ id }) => id === app.profile.value),
);

/** "aten::mul.Tensor" of "aten.mul.Tensor", as graphs of records and dumps write it. */
export function opOf(name: string): string {
  return name.replace(/^([\w-]+)\.(?=\w)/, "$1::").replace(/\.default$/, "");
}

/** The kernel that an event calls, by the name of its operator; empty for other events. */
function kernelOf(name: string): string {
  const [, kernel = ""] = /^native_call_(.+)$/.exec(name) ?? [];
  return kernel && !kernel.includes("::") ? `aten::${kernel}` : kernel;
}

interface Named {
  ops: readonly string[];
  name: string;
  backend: string | null;
}

/** For colour: of the kernel that an event calls, or of its operator; a backend's call has many. */
export function familyOfEvent(event: Named): OpFamily | undefined {
  const kernel = kernelOf(event.name);
  const family = kernel ? familyOf(kernel) : undefined;
  const [op] = event.ops;
  // Names of kernels do not say of which library they are.
  if (family && (family !== "other" || op === undefined)) return family;
  return op === undefined || event.name === "DELEGATE_CALL" ? undefined : familyOf(opOf(op));
}

/** A call of a backend by who it is; a kernel without what all of them begin with. */
export function eventName({ name, backend }: Pick<Named, "name" | "backend">): string {
  return name === "DELEGATE_CALL" && backend ? backend : name.replace(/^native_call_(?=.)/, "");
}

/** True if a recording has runs of a method, or does not say whose they are. */
export const ranIn = ({ blocks }: Pick<Profile, "blocks">, method: string): boolean =>
  blocks.some(({ name, method: of }) => name === "Execute" && (of === null || of === method));

/** How many numbers tell of the clock; more say nothing new. */
const SAMPLE = 4000;
const NS: Readonly<Record<string, number>> = { ns: 1, us: 1e3, ms: 1e6, s: 1e9 };

function common(a: number, b: number): number {
  while (b > 0) [a, b] = [b, a % b];
  return a;
}

/** The step of the clock in the unit of the timeline, where it is coarse; else 0. */
export function tickOf({ spans, scale }: Timeline): number {
  const ns = NS[scale];
  if (ns === undefined || spans.length < 4) return 0;
  let step = 0;
  for (const { start, duration } of spans.slice(0, SAMPLE))
    step = common(common(Math.round(start * ns), Math.round(duration * ns)), step);
  return step >= 1000 ? step / ns : 0;
}

export interface EventRow {
  block: number;
  event: number;
  of: EventBlock;
  it: InspectorEvent;
}

/** All events that have times, but for those that only wrap others. */
export const eventRows = computed((): readonly EventRow[] =>
  (profile.value?.blocks ?? []).flatMap((of, block) =>
    of.events.flatMap((it, event) =>
      it.isWrapper || it.perf === null ? [] : [{ block, event, of, it }],
    ),
  ),
);

/** The operators that an event stands for, the one that it is called after first; or who runs it. */
export function opsText({ ops, backend, name }: Named): string {
  if (ops.length === 0) return backend ?? "";
  const own = kernelOf(name).replace(/\.\w+$/, "");
  const isOwn = (op: string): boolean => own !== "" && opOf(op).replace(/\.\w+$/, "") === own;
  return [...ops.filter(isOwn), ...ops.filter((op) => !isOwn(op))].join(", ");
}

// --- Numbers ---------------------------------------------------------------------------------------

/** Order of numbers: NaN comes before all others; infinities are equal to each other. */
function lowestFirst(a: number, b: number): number {
  if (Number.isNaN(a) || Number.isNaN(b)) return Number(Number.isNaN(b)) - Number(Number.isNaN(a));
  return a === b ? 0 : a < b ? -1 : 1;
}

/** The worst of the outputs of a row. */
export function worstGap({ outputs }: GapRow): Gap | undefined {
  return [...outputs].sort((a, b) => lowestFirst(a.gap.snr, b.gap.snr))[0]?.gap;
}

/** The profile whose values are shown: the one that is chosen, or the latest of the method. */
export const gapProfile = computed((): Profile | undefined => {
  const { value: chosen } = profile;
  const isUseful = (one: Profile): boolean => one.canCompare && ranIn(one, app.method.value);
  return chosen && isUseful(chosen) ? chosen : app.profiles.value.findLast(isUseful);
});

/** The comparison of the method that is shown; undefined while that is not known. */
export const methodGap = computed((): MethodGap | undefined =>
  gapProfile.value?.gaps.get(app.method.value),
);

export const gap = computed(() => methodGap.value?.report ?? null);

/** Nodes that are shown, by handle. */
const byHandle = computed(() => {
  const found = new Map<number, string[]>();
  for (const { name, debugHandle } of [...(rows.value ?? []), ...(innerRows.value ?? [])])
    if (debugHandle > 0) found.set(debugHandle, [...(found.get(debugHandle) ?? []), name]);
  return found;
});

/**
 * The node's name in the version that is shown. Among the nodes with its handle it is the one of
 * its name, or the last, whose value it is. Versions rename nodes; without handles, names are all
 * there is.
 */
export function nodeNameOf({ name, handle }: Pick<InspectorNode, "name" | "handle">): string {
  const names = handle > 0 ? byHandle.value.get(handle) : undefined;
  return !names || names.includes(name) ? name : names.at(-1)!;
}

/** The gap of each node that has one: of nodes that were compared as one, the last has the value. */
export const gapsOfNodes = computed((): ReadonlyMap<string, Gap> => {
  const found = new Map<string, Gap>();
  for (const row of gap.value?.rows ?? []) {
    const [worst, node] = [worstGap(row), row.nodes.at(-1)];
    if (worst && node) found.set(nodeNameOf(node), worst);
  }
  return found;
});

/** From 0 for what is right to the last bit to 1 for noise as loud as the values. */
export function badness({ snr }: Gap): number {
  return Number.isNaN(snr) ? 1 : Math.max(0, Math.min(1, (100 - snr) / 100));
}

export const selectedGap = computed(() =>
  selectedRow.value ? gapsOfNodes.value.get(selectedRow.value.name) : undefined,
);
