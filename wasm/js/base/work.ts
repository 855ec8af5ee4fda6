// Sums over the nodes of a delegation, for reports of its shares.
import type { DelegationRow } from "../types/index.js";

/** The sums of some nodes. */
export interface Work {
  nodes: number;
  macs: number;
  bytes: number;
}

/** The sums of the nodes. */
export function workOf(nodes: readonly DelegationRow[]): Work {
  const sum = { nodes: nodes.length, macs: 0, bytes: 0 };
  for (const { macs, bytes } of nodes) {
    sum.macs += macs;
    sum.bytes += bytes;
  }
  return sum;
}

/** The share of a part, 0 where the whole is empty. */
export const ratio = (part: number, all: number): number => (all > 0 ? part / all : 0);

/** All of a method's nodes, and those of them that parts have. */
export function workOfMethod(nodes: readonly DelegationRow[]): { all: Work; taken: Work } {
  return { all: workOf(nodes), taken: workOf(nodes.filter(({ delegate }) => delegate !== null)) };
}
