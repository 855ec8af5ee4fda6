// Values derived from delegation: the part of each node, and each backend's share of the work.
import { computed } from "@preact/signals";
import type { DelegateInfo, Delegation, DelegationRow, NodeRow } from "@sconce/types/index.js";
import { ratio, workOf, workOfMethod, type Work } from "@sconce/base/work.js";
import { rows } from "./derived.js";
import { app } from "./state.js";
import { nodeOfLine } from "./ui/syntax.js";

export type MethodDelegation = Delegation[string];

/** Hues that parts take turns in, those of families; a label always goes with one. */
const HUES = ["matrix", "index", "conv", "reduce", "other", "create"] as const;

/** A part that a backend took, as the page calls it. */
export interface Part extends DelegateInfo {
  /** "xnnpack:0": by its place among the parts of the method. */
  label: string;
  /** For `style`. */
  hue: { "--hue": string };
}

/** The fate of a node; without a part it is run by the portable kernels. */
export interface Fate {
  row: DelegationRow;
  part: Part | undefined;
}

/** The title of the backend that files call `id`. */
export function backendName(id: string): string {
  return app.backends.value.find((backend) => backend.id === id)?.name ?? id;
}

const keyOf = (graph: string, name: string): string => `${graph}\n${name}`;

/** The delegation of the selected method; undefined when no backend was asked for it. */
export const methodDelegation = computed((): MethodDelegation | undefined => {
  const found = app.delegation.value?.[app.method.value];
  return found?.nodes.some(({ backend }) => backend !== "") ? found : undefined;
});

export const parts = computed((): readonly Part[] =>
  (methodDelegation.value?.delegates ?? []).map((info, i) => ({
    ...info,
    label: `${backendName(info.backend)}:${i}`,
    hue: { "--hue": `var(--family-${HUES[i % HUES.length]})` },
  })),
);

const partsByKey = computed(
  () => new Map(parts.value.map((part) => [keyOf(part.graph, part.name), part])),
);

const fates = computed(
  (): ReadonlyMap<string, Fate> =>
    new Map(
      (methodDelegation.value?.nodes ?? []).map((row) => {
        const part = row.delegate === null ? "" : keyOf(row.graph, row.delegate);
        return [keyOf(row.graph, row.name), { row, part: partsByKey.value.get(part) }];
      }),
    ),
);

// --- Nodes of a version --------------------------------------------------------------------------

const CALL = "higher_order::executorch_call_delegate";

/** True if the version that is shown has delegated nodes, or calls of parts. */
export const hasFates = computed(
  () =>
    methodDelegation.value !== undefined &&
    (app.step.value === "edge" || app.step.value === "delegated"),
);

/** Parts by the nodes that call them; those of a method's own graph come in the same order. */
export const calls = computed((): ReadonlyMap<string, Part> => {
  const own = parts.value.filter(({ graph }) => graph === "");
  const callers = (rows.value ?? []).filter(({ op }) => op === CALL);
  return new Map(callers.flatMap(({ name }, i) => (own[i] ? [[name, own[i]] as const] : [])));
});

/** The node that calls a part; empty for parts in bodies. */
export function callerOf(part: Part): string {
  for (const [name, called] of calls.value) if (called === part) return name;
  return "";
}

/** The nodes of a part, in the order of the program. */
export const nodesOf = (part: Part): readonly DelegationRow[] =>
  (methodDelegation.value?.nodes ?? []).filter(
    ({ graph, delegate }) => graph === part.graph && delegate === part.name,
  );

/** The fate of a node of the method's own graph, in the edge program. */
export const fateOf = (name: string): Fate | undefined =>
  hasFates.value ? fates.value.get(keyOf("", name)) : undefined;

/** The part that a node of the version is in, or calls. */
export function partOf({ name, op }: Pick<NodeRow, "name" | "op">): Part | undefined {
  if (app.step.value === "delegated") return op === CALL ? calls.value.get(name) : undefined;
  return fateOf(name)?.part;
}

/** The runner of a node: a part, the kernels, or nobody, since the node was not needed then. */
export function runnerOf(row: Pick<NodeRow, "name" | "op">): Part | "kernels" | "erased" {
  const isErased = app.step.value === "edge" && fateOf(row.name) === undefined;
  return partOf(row) ?? (isErased ? "erased" : "kernels");
}

// --- Lines of text -------------------------------------------------------------------------------

const BODY = /graph (?:"([^"]*)"|([\w.]+)) \{$/;
const PART = /part (?:"([^"]*)"|([\w.]+)) "[^"]*" \{$/;

/** The part that each line of a version's text belongs to. */
export function partsOfLines(lines: readonly string[]): (Part | undefined)[] {
  const around: { graph: string; part: Part | undefined }[] = [{ graph: "", part: undefined }];
  return lines.map((line) => {
    const ended = /^\s*\}/.test(line) && around.length > 1 ? around.pop() : undefined;
    const { graph, part } = around.at(-1)!;
    const name = nodeOfLine(line);
    const own =
      part ?? ended?.part ?? (name ? fates.value.get(keyOf(graph, name))?.part : undefined);
    if (!line.endsWith("{")) return own;
    const [, quotedPart, plainPart = quotedPart] = PART.exec(line) ?? [];
    if (plainPart !== undefined) {
      const begun = partsByKey.value.get(keyOf(graph, plainPart));
      around.push({ graph, part: begun });
      return begun;
    }
    const [, quoted, body = quoted] = BODY.exec(line) ?? [];
    const path = body === undefined ? graph : graph ? `${graph}/${body}` : body;
    around.push({ graph: path, part });
    return own;
  });
}

// --- Shares of the work --------------------------------------------------------------------------

export interface Shares {
  all: Work;
  taken: Work;
  /** The share of the multiply-adds; of the bytes if there are none, else of the nodes. */
  share: number;
}

export function sharesOf({ nodes }: MethodDelegation): Shares {
  const { all, taken } = workOfMethod(nodes);
  const kind = all.macs > 0 ? "macs" : all.bytes > 0 ? "bytes" : "nodes";
  return { all, taken, share: ratio(taken[kind], all[kind]) };
}

export const shares = computed(() => methodDelegation.value && sharesOf(methodDelegation.value));

// --- Nodes outside -------------------------------------------------------------------------------

/** Nodes that stayed outside for the same reason. */
export interface Outside extends Work {
  op: string;
  backend: string;
  reason: string;
  hint: string;
  /** Those with the most work first. */
  rows: readonly DelegationRow[];
}

const byWork = (a: Omit<Work, "nodes">, b: Omit<Work, "nodes">): number =>
  b.macs - a.macs || b.bytes - a.bytes;

const outsideRows = computed((): readonly (readonly [DelegationRow, text: string])[] =>
  (methodDelegation.value?.nodes ?? [])
    .filter((row) => row.delegate === null)
    .map((row) => [
      row,
      [row.op, row.name, row.graph, row.source, row.reason, row.hint].join(" ").toLowerCase(),
    ]),
);

/** Nodes outside of parts that match the search, by reason, most work first. */
export const outside = computed((): readonly Outside[] => {
  const words = app.search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const groups = new Map<string, DelegationRow[]>();
  for (const [row, text] of outsideRows.value) {
    if (!words.every((word) => text.includes(word))) continue;
    const key = [row.op, row.backend, row.reason, row.hint].join("\n");
    const group = groups.get(key);
    if (group) group.push(row);
    else groups.set(key, [row]);
  }
  return [...groups.values()]
    .map((nodes): Outside => {
      const { op, backend, reason, hint } = nodes[0]!;
      return { ...workOf(nodes), op, backend, reason, hint, rows: nodes.sort(byWork) };
    })
    .sort(byWork);
});

export const outsideCount = computed(() => outsideRows.value.length);
