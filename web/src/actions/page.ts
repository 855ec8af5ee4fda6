// The page itself: theme, help, keys, files dropped anywhere, the clipboard.
import { effect } from "@preact/signals";
import { app, type SampleId } from "../state.js";
import { openSample, stopDemos } from "./demos.js";
import { cancel } from "./job.js";
import { showNextMethod, showStepNumber, showView } from "./look.js";
import { openFiles } from "./open.js";

const THEMES = ["auto", "light", "dark"] as const;
const THEME_KEY = "sconce.theme";

export function watchTheme(): void {
  const kept = localStorage.getItem(THEME_KEY);
  app.theme.value = THEMES.find((theme) => theme === kept) ?? "auto";
  const system = matchMedia("(prefers-color-scheme: dark)");
  const apply = (): void => {
    const { value } = app.theme;
    app.isDark.value = value === "auto" ? system.matches : value === "dark";
    document.documentElement.dataset["theme"] = app.isDark.value ? "dark" : "light";
  };
  system.addEventListener("change", apply);
  effect(() => {
    apply();
    localStorage.setItem(THEME_KEY, app.theme.value);
  });
}

export function nextTheme(): void {
  app.theme.value = THEMES[(THEMES.indexOf(app.theme.value) + 1) % THEMES.length]!;
}

export function setHelp(isOpen: boolean): void {
  app.helpOpen.value = isOpen;
}

export function toggleDock(which: "problems" | "log"): void {
  app.dock.value = app.dock.value === which ? "closed" : which;
}

/** Back to the first screen. */
export function goHome(): void {
  stopDemos();
  cancel("");
  app.document.value = null;
  app.problems.value = [];
  app.dock.value = "closed";
  history.replaceState(null, "", location.pathname);
}

export function chooseFiles(): void {
  const input = document.createElement("input");
  input.type = "file";
  input.multiple = true;
  input.accept = ".pt2,.pte,.ptd,.npy,image/*";
  input.onchange = () => void openFiles(input.files ?? []);
  input.click();
}

export function showSample(id: SampleId): void {
  history.replaceState(null, "", `#${id}`);
  void openSample(id);
}

/** A link may name a sample: page#story. */
export function openFromAddress(): void {
  const id = location.hash.slice(1);
  if (id === "story" || id === "face" || id === "mlp") void openSample(id);
}

export async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

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

/** Files may be dropped anywhere on the page. */
export function listen(): void {
  addEventListener("keydown", onKey);
  let depth = 0;
  const hasFiles = (event: DragEvent): boolean =>
    event.dataTransfer?.types.includes("Files") ?? false;
  addEventListener("dragenter", (event) => {
    if (hasFiles(event) && ++depth > 0) app.dragging.value = true;
  });
  addEventListener("dragleave", (event) => {
    if (hasFiles(event) && --depth <= 0) app.dragging.value = false;
  });
  addEventListener("dragover", (event) => event.preventDefault());
  addEventListener("drop", (event) => {
    event.preventDefault();
    depth = 0;
    app.dragging.value = false;
    void openFiles(event.dataTransfer?.files ?? []);
  });
}
