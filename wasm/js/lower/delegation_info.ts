// The fate of the nodes of edge programs, in numbers: by method and operator, as counts and as
// a table of text.
import type { DelegationInfo, EdgeProgramManager } from "../types/index.js";

interface Counted {
  readonly op: string;
  readonly isInside: boolean;
}

type Counts = DelegationInfo["delegationByOperator"][number];

function byOperator(nodes: readonly Counted[]): Counts[] {
  const rows = new Map<string, Counts>();
  for (const { op, isInside } of nodes) {
    const zero = { occurrencesInDelegatedGraphs: 0, occurrencesInNonDelegatedGraphs: 0 };
    const row = rows.get(op) ?? { opType: op, ...zero };
    row[isInside ? "occurrencesInDelegatedGraphs" : "occurrencesInNonDelegatedGraphs"]++;
    rows.set(op, row);
  }
  return [...rows.values()].sort((a, b) => (a.opType < b.opType ? -1 : 1));
}

function infoOf(nodes: readonly Counted[], parts: number): DelegationInfo {
  const inside = nodes.filter(({ isInside }) => isInside).length;
  return {
    numTotalNodes: nodes.length,
    numDelegatedNodes: inside,
    numNonDelegatedNodes: nodes.length - inside,
    numDelegatedSubgraphs: parts,
    delegationByOperator: byOperator(nodes),
  };
}

/** By method, in the order of names. */
export function delegationInfoOf(edge: EdgeProgramManager): Record<string, DelegationInfo> {
  const delegation = edge.delegation();
  const infos = [...edge.methods].sort().map((method): [string, DelegationInfo] => {
    const { delegates = [], nodes = [] } = delegation[method] ?? {};
    // A program that no backend was asked about has no rows.
    const counted: Counted[] =
      nodes.length > 0
        ? nodes.map(({ op, delegate }) => ({ op, isInside: delegate !== null }))
        : edge
            .exportedProgram(method)
            .nodes()
            .map(({ op }) => ({ op, isInside: false }));
    return [method, infoOf(counted, delegates.length)];
  });
  return Object.fromEntries(infos);
}

const HEADS = ["operator", "delegated", "not delegated"] as const;

function tableOf({ delegationByOperator: rows }: DelegationInfo): string[] {
  const cells = rows.map((row) => [
    row.opType,
    String(row.occurrencesInDelegatedGraphs),
    String(row.occurrencesInNonDelegatedGraphs),
  ]);
  const all = [[...HEADS], ...cells];
  const widths = HEADS.map((_, column) => Math.max(...all.map((row) => row[column]!.length)));
  return all.map((row) =>
    row
      .map((cell, column) =>
        column === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[column]!),
      )
      .join("  "),
  );
}

/** A summary and a table for each method. */
export function delegationText(infos: Readonly<Record<string, DelegationInfo>>): string {
  const blocks = Object.entries(infos).map(([method, info]) => {
    const { numDelegatedSubgraphs: parts, numDelegatedNodes: inside, numTotalNodes: all } = info;
    return [
      `Delegation info for method '${method}':`,
      `${parts} delegate${parts === 1 ? "" : "s"}, ${inside} of ${all} nodes delegated`,
      ...tableOf(info),
    ].join("\n");
  });
  return `${blocks.join("\n\n")}\n`;
}
