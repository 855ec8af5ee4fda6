// The keys of the page. Fields keep theirs; Esc leaves a field first, and then cancels or clears.
import { app } from "../state.js";
import { chooseFiles } from "./drops.js";
import { cancel } from "./task.js";
import { showNextMethod, showStepNumber, showView } from "./look.js";
import { setHelp } from "./page.js";

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.matches("input, textarea, select");
}

function escape(): void {
  if (app.busy.value) cancel();
  else if (app.search.value) app.search.value = "";
  else if (app.node.value) app.node.value = "";
  else app.dock.value = "closed";
}

const KEYS: Record<string, () => void> = {
  "?": () => setHelp(!app.helpOpen.value),
  "/": () => document.querySelector<HTMLInputElement>("[data-search]")?.focus(),
  s: () => showView("summary"),
  t: () => showView("table"),
  x: () => showView("text"),
  m: () => showView("memory"),
  "[": () => showNextMethod(-1),
  "]": () => showNextMethod(1),
  o: chooseFiles,
  ...Object.fromEntries([1, 2, 3, 4, 5, 6].map((n) => [String(n), () => showStepNumber(n)])),
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
