// The keys of the page. Fields keep theirs; Esc leaves a field first, and then cancels or clears.
import { VIEW_NAMES, VIEWS } from "../looks.js";
import { app, STEPS } from "../state.js";
import { chooseFiles } from "./drops.js";
import { cancel } from "./task.js";
import { selectNode, showNextMethod, showStepNumber, showView } from "./look.js";
import { setHelp } from "./page.js";

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.matches("input, textarea, select");
}

function escape(): void {
  if (app.busy.value) cancel();
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
  ...Object.fromEntries(VIEW_NAMES.map((name) => [VIEWS[name].key, () => showView(name)])),
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
