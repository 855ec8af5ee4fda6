// The page around the pane: help, dock, clipboard.
import { app } from "../state.js";

export function setHelp(isOpen: boolean): void {
  app.helpOpen.value = isOpen;
}

export function toggleDock(which: "problems" | "log" | "profile"): void {
  app.dock.value = app.dock.value === which ? "closed" : which;
}

export async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
