// Values derived from the state for the graph that is shown.
import { computed } from "@preact/signals";
import { calls, nodesOf, type Part } from "./delegates.js";
import { innerKey, innerRows, listKey, methodSummary, rows } from "./derived.js";
import type { GraphSource, PartSource, Scene, SceneBox } from "./graph/model.js";
import { app } from "./state.js";
import { formatType, plural } from "./ui/format.js";

/** True if the graph of the version has parts to show whose contents are still loading. */
const isWaiting = computed(() => calls.value.size > 0 && innerKey.value !== "" && !innerRows.value);

/** Key of the graph that is shown; empty until its nodes are there. */
export const graphKey = computed(() =>
  rows.value && !isWaiting.value ? `${listKey.value}/${calls.value.size}` : "",
);

export const scene = computed((): Scene | undefined => app.scenes.value.get(graphKey.value));

function partSource(caller: string, part: Part): PartSource {
  const names = new Set(nodesOf(part).map(({ name }) => name));
  return {
    caller,
    label: part.label,
    reason: `${plural(part.nodes, "node")}, one call of ${part.backend}`,
    rows: (innerRows.value ?? []).filter(({ name }) => names.has(name)),
  };
}

/** The graph as the worker takes it. Weights are no boxes: every node that uses one names it. */
export function graphSource(): GraphSource {
  const summary = methodSummary.value;
  const type = (info: Parameters<typeof formatType>[0]): string =>
    formatType(info, app.dtypes.value);
  const inputs = (summary?.inputs ?? []).filter(({ role }) => role === "user_input");
  return {
    rows: rows.value ?? [],
    inputs: inputs.map((info) => ({ name: info.name, type: type(info) })),
    outputs: (summary?.outputs ?? []).map((info) => ({
      name: info.role === "user_output" ? info.name : info.target || info.name,
      type: info.role === "user_output" ? type(info) : info.role.replaceAll("_", " "),
      value: info.name,
      isState: info.role !== "user_output",
    })),
    parts: [...calls.value].map(([caller, part]) => partSource(caller, part)),
    dtypes: app.dtypes.value,
  };
}

/** Index of the box that is selected, or hides what is; -1 for none. */
export const selectedBox = computed((): number => {
  const { value } = scene;
  if (!value) return -1;
  if (app.node.value) return value.boxOf.get(`n:${app.node.value}`) ?? -1;
  return app.box.value ? value.boxes.findIndex(({ id }) => id === app.box.value) : -1;
});

export const boxAt = (index: number): SceneBox | undefined => scene.value?.boxes[index];

/** Edges into and out of the selected box. */
export const litEdges = computed(() => {
  const at = selectedBox.value;
  const edges = at < 0 ? [] : (scene.value?.edges ?? []);
  return {
    inputs: edges.filter(({ to }) => to === at),
    users: edges.filter(({ from }) => from === at),
  };
});

/** Nodes that match the search, in the order of the program. */
export const matches = computed((): readonly string[] => {
  const words = app.search.value.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return [];
  const inner = [...calls.value].flatMap(([caller, part]) => partSource(caller, part).rows);
  return [...(rows.value ?? []), ...inner]
    .filter((row) => {
      const types = row.outputs.map((out) => formatType(out, app.dtypes.value)).join(" ");
      const text = `${row.name} ${row.op} ${types} ${row.source} ${row.module}`.toLowerCase();
      return words.every((word) => text.includes(word));
    })
    .map(({ name }) => name);
});

/** Nodes of the version, those that its parts are made of among them. */
export const nodeCount = computed((): number => {
  const inner = [...calls.value.values()].reduce((sum, part) => sum + part.nodes - 1, 0);
  return (rows.value?.length ?? 0) + (innerRows.value ? inner : 0);
});

/** Boxes that match the search, or hide what does. */
export const matchedBoxes = computed((): ReadonlySet<number> => {
  const boxOf = scene.value?.boxOf;
  return new Set(matches.value.map((name) => boxOf?.get(`n:${name}`) ?? -1));
});
