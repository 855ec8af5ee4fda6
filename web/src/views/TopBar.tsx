// The bar on top: what is open, and what can be done with it from anywhere.
import type { JSX } from "preact";
import { chooseFiles, goHome, nextTheme, save, setHelp } from "../actions.js";
import { app } from "../state.js";
import { formatBytes } from "../ui/format.js";
import { Logo } from "../ui/parts.js";

function Title(): JSX.Element | null {
  const { value } = app.document;
  if (!value) return null;
  const count = value.files.length;
  return (
    <p class="title">
      <span class="mono">{value.title}</span>
      {count > 1 ? <span class="soft">{count} files, one program</span> : null}
    </p>
  );
}

const THEME_NAMES = { auto: "as the system", light: "light", dark: "dark" } as const;

export function TopBar(): JSX.Element {
  const isReady = app.steps.value.program.status === "done";
  const isOpen = app.document.value !== null;
  return (
    <header class="topbar">
      <button
        type="button"
        class="brand"
        onClick={goHome}
        aria-label="Sconce, back to the start"
        title="Back to the start"
      >
        <Logo />
        <span>sconce</span>
      </button>
      <Title />
      <nav aria-label="Page">
        <button type="button" class="quiet open" onClick={chooseFiles} title="Open files (o)">
          Open
        </button>
        {isOpen ? (
          <button type="button" class="quiet samples" onClick={goHome}>
            Samples
          </button>
        ) : null}
        <a class="docs" href="docs/" target="_blank" title="Read the documentation">
          Docs
        </a>
        {isOpen && app.document.value?.kind !== "record" ? (
          <button
            type="button"
            class="primary"
            disabled={!isReady}
            onClick={save}
            title={
              isReady
                ? `Save the program, ${formatBytes(app.programBytes.value)}`
                : "There is no program yet"
            }
          >
            Save {app.cases.value.list.length > 0 ? ".bpte" : ".pte"}
          </button>
        ) : null}
        <button
          type="button"
          class="icon"
          onClick={nextTheme}
          title={`Theme: ${THEME_NAMES[app.theme.value]}`}
          aria-label={`Theme: ${THEME_NAMES[app.theme.value]}. Change`}
        >
          <svg viewBox="0 0 16 16" aria-hidden="true">
            <circle cx="8" cy="8" r="6" />
            <path
              d={
                app.theme.value === "auto"
                  ? "M8 2a6 6 0 0 1 0 12z"
                  : app.theme.value === "dark"
                    ? "M8 2a6 6 0 0 1 0 12 6 6 0 0 1 0-12z"
                    : ""
              }
            />
          </svg>
        </button>
        <button
          type="button"
          class="icon"
          onClick={() => setHelp(true)}
          aria-label="Help and keys"
          title="Help and keys (?)"
        >
          ?
        </button>
      </nav>
    </header>
  );
}
