// Values derived from the report of quantizing, for the method that is shown.
import { computed } from "@preact/signals";
import { rangesOfNodes, worstOf } from "@sconce/recipe/quantize/report.js";
import type {
  MethodQuantizationReport,
  QuantizedNode,
  QuantizedRange,
} from "@sconce/types/index.js";
import { app } from "./state.js";

export const methodQuantization = computed(
  (): MethodQuantizationReport | undefined =>
    app.quantization.value?.report.methods[app.method.value],
);

/** True if ranges of the method come from inputs that were given here. */
export const isOwn = computed(() => {
  const { calibration = [] } = app.quantization.value?.settings ?? {};
  return calibration.some(
    ({ method, calls }) => method === app.method.value || app.method.value in calls,
  );
});

/** A node with the range of what it gives. */
export interface NodeLine extends QuantizedNode {
  range: QuantizedRange | undefined;
}

export const nodeLines = computed((): readonly NodeLine[] => {
  const { value: report } = methodQuantization;
  if (!report) return [];
  const ranges = rangesOfNodes(report);
  return report.nodes.map((node) => ({ ...node, range: ranges.get(node.node) }));
});

/** The node that is farthest off. */
export const worstLine = computed((): NodeLine | undefined => worstOf(nodeLines.value));

/** How many tokens two stories begin with alike. */
export function alike(a: readonly number[], b: readonly number[]): number {
  const at = a.findIndex((token, i) => token !== b[i]);
  return at < 0 ? a.length : at;
}
