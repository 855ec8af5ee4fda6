// Looking around: which step, method, view and node is shown; what a view needs is fetched here.
import { effect } from "@preact/signals";
import { messageOf } from "@sconce/base/errors.js";
import {
  earlierKey,
  innerKey,
  lines,
  listKey,
  methodNames,
  rows,
  shownSteps,
  version,
  versionOf,
  view,
  viewsOfStep,
} from "../derived.js";
import type { View } from "../looks.js";
import { app, type PartText, type StepId } from "../state.js";
import { isCancelled } from "./engine.js";
import { handles, loadedProgram } from "./handles.js";
import { report } from "./problems.js";

export function showStep(step: StepId): void {
  if (app.steps.value[step].status === "absent") return;
  app.step.value = step;
}

export function showStepNumber(number: number): void {
  const step = shownSteps.value[number - 1];
  if (step) showStep(step);
}

export function showMethod(name: string): void {
  if (app.method.value === name) return;
  app.method.value = name;
  app.node.value = "";
}

export function showNextMethod(by: number): void {
  const names = methodNames.value;
  const at = names.indexOf(app.method.value) + by;
  if (names.length > 0) showMethod(names[(at + names.length) % names.length]!);
}

export function showView(next: View): void {
  if (viewsOfStep.value.includes(next))
    app.views.value = { ...app.views.value, [app.step.value]: next };
}

export function selectNode(name: string): void {
  app.node.value = name;
  app.box.value = "";
  app.said.value = "";
}

/** Goes to the node that a problem names: where it failed, or in the source while that is all. */
export function showNode(at: StepId, method: string, name: string, kept: View = "table"): void {
  const before = at === "delegated" ? "edge" : "source";
  const step = versionOf(app.report.value, at) ? at : before;
  showStep(step);
  if (method) showMethod(method);
  app.views.value = { ...app.views.value, [step]: kept };
  selectNode(name);
}

export function sortBy(column: string): void {
  const { value } = app.sort;
  app.sort.value =
    value.column !== column
      ? { column, descending: false }
      : value.descending
        ? { column: "", descending: false }
        : { column, descending: true };
}

const asked = new Set<string>();

/** Fetches rows and lines of what is shown, once. The inspector wants rows in every view. */
export function watchLists(): void {
  effect(() => {
    const key = listKey.value;
    const { opened } = handles;
    const { program } = version.value ?? { program: 0 };
    const method = app.method.value;
    if (app.report.value === null) asked.clear();
    if (!key || !opened) return;
    const ask = (what: string, get: () => Promise<void>): void => {
      if (asked.has(what + key)) return;
      asked.add(what + key);
      get().catch((error: unknown) => {
        asked.delete(what + key);
        if (!isCancelled(error)) report(error, app.step.value);
      });
    };
    if (!rows.value) {
      ask("rows", async () => {
        const found = await opened.nodes(program, method);
        if (handles.opened === opened) app.rows.value = new Map(app.rows.value).set(key, found);
      });
    }
    const other = { graph: innerKey, changes: earlierKey }[view.value as string]?.value;
    if (other && !app.rows.value.has(other)) {
      ask(`rows of ${other} for `, async () => {
        const found = await opened.nodes(Number(other.split("/")[0]), method);
        if (handles.opened === opened) app.rows.value = new Map(app.rows.value).set(other, found);
      });
    }
    if (view.value === "text" && !lines.value) {
      ask("lines", async () => {
        const text = await opened.text(program, method);
        if (handles.opened === opened)
          app.lines.value = new Map(app.lines.value).set(key, text.split("\n"));
      });
    }
  });
}

/** The parts that are being asked for, and of which program. */
const askedParts = new Map<string, typeof handles.pte>();

/** Fetches what is in a part of the program, once; a part that failed is asked for again. */
export function showPart(method: string, index: number): void {
  const key = `${method}/${index}`;
  const { pte } = handles;
  if (app.partTexts.value.get(key)?.fault === "" || askedParts.get(key) === pte) return;
  const keep = (told: PartText): void => {
    if (handles.pte === pte) app.partTexts.value = new Map(app.partTexts.value).set(key, told);
  };
  askedParts.set(key, pte);
  loadedProgram()
    .then((program) => program.partText(method, index))
    .then((text) => keep({ lines: text.split("\n").slice(0, -1), fault: "" }))
    .catch((error: unknown) => {
      keep({ lines: [], fault: messageOf(error) });
      if (!isCancelled(error)) report(error, "program");
    })
    .finally(() => {
      if (askedParts.get(key) === pte) askedParts.delete(key);
    });
}

export function setSearch(text: string): void {
  app.search.value = text;
}
