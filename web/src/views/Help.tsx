// The help dialog: what the steps mean, and the keys.
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { setHelp } from "../actions.js";
import { shownSteps } from "../derived.js";
import { VIEWS } from "../looks.js";
import { app, STEPS } from "../state.js";
import { Key } from "../ui/parts.js";
import { STEP_NAMES, STEP_WORDS } from "../words.js";

/** The views by their keys, each once: views of different steps may share one. */
const VIEW_KEYS = new Map(Object.values(VIEWS).map(({ key, title }) => [key, title]));

const keys = (): readonly (readonly [keys: string, what: string])[] => [
  [shownSteps.value.map((_, i) => i + 1).join(" "), "go to a step"],
  [[...VIEW_KEYS.keys()].join(" "), [...VIEW_KEYS.values()].join(", ")],
  ["[ ]", "previous method, next method"],
  ["/", "search or filter"],
  ["↑ ↓ ← →", "move through rows, walk a graph along its lines"],
  ["Enter", "open or close a group of a graph"],
  ["Backspace", "the group around it"],
  ["< >", "the same node in the stage before, after"],
  ["+ - 0", "zoom, fit"],
  ["o", "open files"],
  ["Esc", "cancel, or clear"],
  ["?", "this list"],
];

export function Help(): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const isOpen = app.helpOpen.value;
  useEffect(() => {
    if (isOpen) dialog.current!.showModal();
    else dialog.current!.close();
  }, [isOpen]);
  return (
    <dialog
      ref={dialog}
      class="help"
      aria-labelledby="help-title"
      onClose={() => setHelp(false)}
      onKeyDown={(event) => event.key === "?" && setHelp(false)}
      onClick={(event) => event.target === dialog.current && setHelp(false)}
    >
      <div class="help-body">
        <header>
          <h2 id="help-title">How it works</h2>
          <button type="button" onClick={() => setHelp(false)}>
            Close
          </button>
        </header>
        <dl class="help-steps">
          {STEPS.map((id) => (
            <div key={id}>
              <dt>{STEP_NAMES[id]}</dt>
              <dd>{STEP_WORDS[id]}</dd>
            </div>
          ))}
        </dl>
        <h2>Keys</h2>
        <dl class="help-keys">
          {keys().map(([list, what]) => (
            <div key={list}>
              <dt>
                {list.split(" ").map((key) => (
                  <Key key={key}>{key}</Key>
                ))}
              </dt>
              <dd>{what}</dd>
            </div>
          ))}
        </dl>
        <p class="soft">
          Nothing leaves this machine: files are read, lowered and run by WebAssembly in a worker of
          this page.
          {app.engine.value.version ? ` Engine ${app.engine.value.version}.` : ""}
        </p>
      </div>
    </dialog>
  );
}
