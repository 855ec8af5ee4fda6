// The keys of the page. Fields keep theirs; Esc leaves a field first, and then cancels or clears.
import { viewsOfStep } from "../derived.js";
import { VIEWS } from "../looks.js";
import { app, STEPS } from "../state.js";
import { chooseFiles } from "./drops.js";
import { cancel } from "./task.js";
import { selectNode, showNextMethod, showStepNumber, showView } from "./look.js";
import { setHelp } from "./page.js";
import { isTalking, stopTalk } from "./talking.js";

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.matches("input, textarea, select");
}

/** Two views of one key are never of the same step. */
function showViewOf(key: string): void {
  const found = viewsOfStep.value.find((name) => VIEWS[name].key === key);
  if (found) showView(found);
}

function escape(): void {
  if (app.busy.value) cancel();
  else if (isTalking()) stopTalk();
  else if (app.search.value) app.search.value = "";
  else if (app.node.value || app.box.value) selectNode("");
  else app.dock.value = "closed";
}

const KEYS: Record<string, () => void> = {
  "?": () => setHelp(!app.helpOpen.value),
  "/": () => document.querySelector<HTMLInputElement>("[data-search]")?.focus(),
  "[": () => showNextMethod(-1),
  "]": () => showNextMethod(1),
  o: chooseFiles,
  ...Object.fromEntries(
    Object.values(VIEWS).map(({ key }) => [key, () => showViewOf(key)] as const),
  ),
  ...Object.fromEntries(STEPS.map((_, i) => [String(i + 1), () => showStepNumber(i + 1)])),
};

function onKey(event: KeyboardEvent): void {
  if (event.ctrlKey || event.metaKey || event.altKey || app.helpOpen.value) return;
  if (event.key === "Escape") {
    if (isTyping(event.target)) (event.target as HTMLElement).blur();
    else escape();
    return;
  }
  const action = isTyping(event.target) ? undefined : KEYS[event.key];
  if (!action) return;
  event.preventDefault();
  action();
}

export function watchKeys(): void {
  addEventListener("keydown", onKey);
}
