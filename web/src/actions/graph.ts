// Graphs: asking the worker for them, opening and closing groups, going from box to box and from a
// node to the same one in another version.
import type { StepId } from "../looks.js";
import { effect } from "@preact/signals";
import type { NodeRow } from "@sconce/types/index.js";
import { neighbourStep, version, versionOf, view } from "../derived.js";
import { boxAt, graphKey, graphSource, matches, scene } from "../graph.js";
import type { Graphs, Wish } from "../graph/model.js";
import { app } from "../state.js";
import { isCancelled } from "./engine.js";
import { handles } from "./handles.js";
import { selectNode, showStep, showView } from "./look.js";
import { report } from "./problems.js";
import { STEP_NAMES } from "../words.js";
import { workerEnd } from "./worker.js";

/** Graphs that the worker has. */
const taken = new Set<string>();

const worker = workerEnd<Graphs>(
  () => new Worker(new URL("../graph.worker.ts", import.meta.url), { type: "module" }),
  "graphs",
  () => taken.clear(),
);

/** Counts what it was asked for: an answer that another one follows is not shown. */
let wishes = 0;

async function lay(key: string, wish: Wish): Promise<void> {
  const mine = ++wishes;
  const { value: document } = app.document;
  try {
    if (!taken.has(key)) {
      taken.add(key);
      await worker.ask("take", [key, graphSource()]);
    }
    const laid = await worker.ask("lay", [key, wish]);
    if (mine === wishes && document === app.document.value)
      app.scenes.value = new Map(app.scenes.value).set(key, laid);
  } catch (error) {
    taken.delete(key);
    if (!isCancelled(error)) report(error, app.step.value);
  }
}

/** Lays out what is shown, once, and again when the node that is selected is hidden in it. */
export function watchGraphs(): void {
  effect(() => {
    if (app.report.value === null && taken.size > 0) {
      taken.clear();
      void worker.ask("forget", []);
    }
    const key = graphKey.value;
    if (view.value !== "graph" || !version.value || !key) return;
    const [shown, node] = [scene.value, app.node.value];
    const leaf = node ? `n:${node}` : "";
    const at = shown?.boxOf.get(leaf);
    if (shown && (at === undefined || shown.boxes[at]!.id === leaf)) return;
    void lay(key, { open: shown?.open ?? null, reveal: leaf });
  });
}

export function selectBox(index: number): void {
  const box = boxAt(index);
  selectNode(box?.kind === "node" ? box.name : "");
  if (box && box.kind !== "node") app.box.value = box.id;
}

export function openBox(id: string): void {
  const { value } = scene;
  if (!value || !id) return;
  void lay(graphKey.value, { open: [...value.open.filter((one) => one !== id), id], reveal: "" });
}

/** Closes a group; it is selected then, so that the place is not lost. */
export function closeBox(id: string): void {
  const { value } = scene;
  if (!value || !id) return;
  selectNode("");
  app.box.value = id;
  void lay(graphKey.value, { open: value.open.filter((one) => one !== id), reveal: "" });
}

/** Everything closed, or as it was at first. */
export function foldGraph(isFolded: boolean): void {
  selectNode("");
  void lay(graphKey.value, { open: isFolded ? [] : null, reveal: "" });
}

/** Selects the next node that matches the search, or the one before. */
export function showMatch(back: boolean): void {
  const found = matches.value;
  if (found.length === 0) return;
  const at = found.indexOf(app.node.value);
  const next = back ? (at <= 0 ? found.length : at) - 1 : (at + 1) % found.length;
  selectNode(found[next]!);
}

// --- The same node in another version ---------------------------------------------------------------

const typesOf = (row: NodeRow): string =>
  JSON.stringify(row.outputs.map((o) => [o.dtype, o.shape]));

/** How much speaks for two rows being the same node; 0 if they have no fact in common. Names may be given anew. */
function kinship(a: NodeRow, b: NodeRow): number {
  // Nodes made from one node share its handle; any other likeness decides among them.
  const isSameHandle = a.debugHandle > 0 && a.debugHandle === b.debugHandle;
  const isSameLine = a.source !== "" && a.source === b.source && a.module === b.module;
  const isSameName = a.name === b.name;
  const isSameOp = a.op === b.op;
  if (!isSameHandle && !isSameLine && !(isSameName && isSameOp)) return 0;
  const certain = isSameHandle ? 100 : 1;
  return certain + (isSameOp ? 4 : 0) + (isSameName ? 2 : 0) + (typesOf(a) === typesOf(b) ? 1 : 0);
}

/** The node of another version that `row` became, or came from. */
function counterpart(row: NodeRow, others: readonly NodeRow[]): NodeRow | undefined {
  let best: NodeRow | undefined;
  let most = 0;
  for (const other of others) {
    const much = kinship(row, other);
    if (much > most) [best, most] = [other, much];
  }
  return best;
}

async function rowsAt(step: StepId): Promise<readonly NodeRow[] | undefined> {
  const { opened } = handles;
  const method = app.method.value;
  const found = versionOf(app.report.value, step);
  if (!found || !opened) return undefined;
  const key = `${found.program}/${method}`;
  const known = app.rows.value.get(key) ?? (await opened.nodes(found.program, method));
  if (handles.opened !== opened) return undefined;
  app.rows.value = new Map(app.rows.value).set(key, known);
  return known;
}

/** Goes to the same node in the version before or after, in the view that is open. */
export async function followNode(row: NodeRow, by: -1 | 1): Promise<void> {
  const target = neighbourStep(app.step.value, by);
  const kept = view.value;
  if (!target) return void (app.said.value = "There is no stage beyond this one.");
  try {
    const others = await rowsAt(target);
    if (!others) return;
    const found = counterpart(row, others);
    if (!found)
      return void (app.said.value = `Nothing in ${STEP_NAMES[target]} comes from ${row.name}.`);
    showStep(target);
    showView(kept);
    selectNode(found.name);
  } catch (error) {
    if (!isCancelled(error)) report(error, app.step.value);
  }
}
