// Light and dark: as the system says, unless the switch says otherwise.
import { effect } from "@preact/signals";
import { app } from "../state.js";

const THEMES = ["auto", "light", "dark"] as const;
const THEME_KEY = "sconce.theme";

/** Browsers that keep nothing for a page refuse even to be asked. */
function kept(): string | null {
  try {
    return localStorage.getItem(THEME_KEY);
  } catch {
    return null;
  }
}

function keep(theme: string): void {
  try {
    localStorage.setItem(THEME_KEY, theme);
  } catch {
    // The theme then lasts as long as the page.
  }
}

export function watchTheme(): void {
  const last = kept();
  app.theme.value = THEMES.find((theme) => theme === last) ?? "auto";
  const system = matchMedia("(prefers-color-scheme: dark)");
  const apply = (): void => {
    const { value } = app.theme;
    app.isDark.value = value === "auto" ? system.matches : value === "dark";
    document.documentElement.dataset["theme"] = app.isDark.value ? "dark" : "light";
  };
  system.addEventListener("change", apply);
  effect(() => {
    apply();
    keep(app.theme.value);
  });
}

export function nextTheme(): void {
  app.theme.value = THEMES[(THEMES.indexOf(app.theme.value) + 1) % THEMES.length]!;
}
