// What follows from the state about the profile that is shown.
import { computed } from "@preact/signals";
import type { OpFamily } from "@sconce/types.js";
import type { EventBlock, Gap, GapRow, InspectorEvent } from "@sconce/types_inspector.js";
import { selectedRow } from "./derived.js";
import { app, type Profile } from "./state.js";
import { familyOf } from "./ui/families.js";

export const profile = computed((): Profile | undefined =>
  app.profiles.value.find(({ id }) => id === app.profile.value),
);

/** "aten::mul.Tensor" of "aten.mul.Tensor", as graphs of records and dumps write it. */
export function opOf(name: string): string {
  return name.replace(/^([\w-]+)\.(?=\w)/, "$1::").replace(/\.default$/, "");
}

/** For colour: of the operators that an event stands for, or of the kernel that it calls. */
export function familyOfEvent(event: {
  ops: readonly string[];
  name: string;
}): OpFamily | undefined {
  const [op] = event.ops;
  if (op !== undefined) return familyOf(opOf(op));
  const [, kernel] = /^native_call_(.+)$/.exec(event.name) ?? [];
  if (kernel === undefined) return undefined;
  return familyOf(kernel.includes("::") ? kernel : `aten::${kernel}`);
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

export const selectedEvent = computed((): InspectorEvent | undefined => {
  const at = app.event.value;
  return at ? profile.value?.blocks[at.block]?.events[at.event] : undefined;
});

/** Who runs an event: a backend, or the operators that it stands for. */
export function opsText(event: Pick<InspectorEvent, "ops" | "backend" | "delegateId">): string {
  if (event.ops.length > 0) return event.ops.join(", ");
  return event.backend ?? "";
}

// --- Numbers ---------------------------------------------------------------------------------------

/** The worst of the outputs of a row. */
export function worstGap({ outputs }: GapRow): Gap | undefined {
  return [...outputs].sort((a, b) => a.gap.snr - b.gap.snr)[0]?.gap;
}

export const gap = computed(() => profile.value?.gap ?? null);

/** The gap of each node that has one, by name and by handle. */
export const gapsOfNodes = computed(() => {
  const byName = new Map<string, Gap>();
  const byHandle = new Map<number, Gap>();
  const isOurs = gap.value?.method === app.method.value || gap.value?.method === "";
  for (const row of isOurs ? gap.value!.rows : []) {
    const worst = worstGap(row);
    if (!worst) continue;
    for (const { name, handle } of row.nodes) {
      byName.set(name, worst);
      if (handle > 0) byHandle.set(handle, worst);
    }
  }
  return { byName, byHandle };
});

/** From 0 for what is right to the last bit to 1 for noise as loud as the values. */
export function badness({ snr }: Gap): number {
  return Number.isNaN(snr) ? 1 : Math.max(0, Math.min(1, (100 - snr) / 100));
}

export const selectedGap = computed(() =>
  selectedRow.value ? gapsOfNodes.value.byName.get(selectedRow.value.name) : undefined,
);
