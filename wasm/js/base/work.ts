// What nodes of a delegation add up to, for all who tell of its shares.
import type { DelegationRow } from "../types/index.js";

export interface Work {
  nodes: number;
  macs: number;
  bytes: number;
}

export function workOf(nodes: readonly DelegationRow[]): Work {
  const sum = { nodes: nodes.length, macs: 0, bytes: 0 };
  for (const { macs, bytes } of nodes) {
    sum.macs += macs;
    sum.bytes += bytes;
  }
  return sum;
}

export const ratio = (part: number, all: number): number => (all > 0 ? part / all : 0);

/** All of a method's nodes, and those of them that parts have. */
export function workOfMethod(nodes: readonly DelegationRow[]): { all: Work; taken: Work } {
  return { all: workOf(nodes), taken: workOf(nodes.filter(({ delegate }) => delegate !== null)) };
}
