// sconce inspect of an .etrecord: what it holds, how a stage became another, and the user's own line
// of any node.
import { counted } from "../../base/counted.js";
import { SconceError } from "../../base/errors.js";
import type { Inspector, StageDiffRow, StageNode } from "../../types/index.js";
import { UsageError } from "../usage.js";
import { printJson } from "../print/json.js";
import { sayTable } from "../print/table.js";
import { isJson, say } from "../print/terminal.js";

/** The flags that choose what is shown of a record. */
export interface RecordFlags {
  stages: readonly string[];
  method: string | undefined;
  node: string | undefined;
}

function showContents(inspector: Inspector): void {
  const report = inspector.report();
  const delegation = inspector.delegation();
  if (isJson()) return printJson({ kind: "etrecord", ...report, delegation });
  const { stages, representativeInputs, referenceOutputs, unknownEntries, unreadEntries } =
    report.etrecord!;
  say("stages");
  sayTable(
    ["stage", "method", "nodes", "weights"],
    stages.map((s) => [s.stage, s.method, s.nodes, s.hasWeights ? "yes" : "no"]),
  );
  for (const d of delegation) {
    say(
      `method ${d.method}: ${counted(d.delegatedSubgraphs, "delegate")} with ${counted(d.delegatedNodes, "node")}, ${counted(d.nonDelegatedNodes, "other node")}`,
    );
    sayTable(
      ["operator", "delegated", "not"],
      d.rows.map((row) => [row.op, row.delegated, row.nonDelegated]),
    );
  }
  if (representativeInputs !== null) say(counted(representativeInputs, "representative input"));
  for (const [method, cases] of Object.entries(referenceOutputs))
    say(`reference outputs of method ${method}: ${counted(cases, "case")}`);
  if (unknownEntries.length > 0) say(`not understood: ${unknownEntries.join(", ")}`);
  for (const { name, reason } of unreadEntries) say(`cannot be read: ${name}: ${reason}`);
}

const lineOf = (node: StageNode): string =>
  `${node.name} = ${node.op}(${node.inputs.join(", ")})${node.source ? `  # ${node.source}` : ""}`;

function sayRow({ kind, a, b }: StageDiffRow): void {
  if (kind === "same") return say(`  ${lineOf(b!)}`);
  if (a) say(`- ${lineOf(a)}`);
  if (b) say(`+ ${lineOf(b)}`);
}

const EXPORTED = "exported_program";

/** A stage that is not there for a method: files have a place for the exported program of one only. */
function checkStages(inspector: Inspector, { stages, method }: RecordFlags): void {
  const { stages: all, methods } = inspector.report().etrecord!;
  const found = all.filter(({ stage }) => stage === EXPORTED);
  const isMissing = found.length === 0 || (method && !found.some((s) => s.method === method));
  if (!stages.includes(EXPORTED) || methods.length < 2 || !isMissing) return;
  const whose = found.length > 0 ? `that of method '${found[0]!.method}'` : "none here";
  throw new SconceError(
    "not_found",
    `this record of several methods has one exported program only, ${whose}`,
    "Write a record of each method: sconce lower --etrecord-per-method FOLDER.",
  );
}

function showStages(inspector: Inspector, flags: RecordFlags): void {
  const [from, to, ...others] = flags.stages;
  if (others.length > 0)
    throw new UsageError("--stage can be given once, or twice to compare two stages");
  checkStages(inspector, flags);
  if (to === undefined) {
    const nodes = inspector.nodes(from!, flags.method);
    if (isJson()) return printJson({ kind: "stage", stage: from, nodes });
    return nodes.forEach((node) => say(lineOf(node)));
  }
  const diff = inspector.diff(from!, to, flags.method);
  if (isJson()) return printJson({ kind: "diff", ...diff });
  say(
    `method ${diff.method}, ${from} to ${to}: ${counted(diff.same, "node")} as they were, ${diff.changed} changed, ${diff.removed} gone, ${diff.added} new`,
  );
  diff.rows.forEach(sayRow);
}

/** Every stage in which there is a node of that name. */
function showNode(inspector: Inspector, flags: RecordFlags, name: string): void {
  const stages = inspector.report().etrecord!.stages;
  const found = stages
    .filter(
      ({ stage, method }) =>
        (flags.stages.length === 0 || flags.stages.includes(stage)) &&
        (flags.method === undefined || flags.method === method),
    )
    .flatMap(({ stage, method }) =>
      inspector
        .nodes(stage, method)
        .filter((node) => node.name === name)
        .map((node) => ({ stage, method, node })),
    );
  if (found.length === 0)
    throw new SconceError("not_found", `no stage has a node '${name}'`, "See --stage NAME.");
  if (isJson()) return printJson({ kind: "node", found });
  for (const { stage, method, node } of found) {
    say(`${stage} of method ${method}`);
    say(`  ${lineOf(node)}`);
    if (node.debugHandle) say(`  debug handle ${node.debugHandle}`);
    for (const line of node.stackTrace.split("\n")) if (line) say(`  ${line}`);
  }
}

/** Prints a record, or what is asked of it. */
export function showRecord(inspector: Inspector, flags: RecordFlags): void {
  if (flags.node !== undefined) showNode(inspector, flags, flags.node);
  else if (flags.stages.length > 0) showStages(inspector, flags);
  else showContents(inspector);
}
