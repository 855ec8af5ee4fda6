// One tab per method of the program; hidden while there is one only.
import type { JSX } from "preact";
import { showMethod } from "../actions.js";
import { methodNames } from "../derived.js";
import { app } from "../state.js";

export function MethodTabs(): JSX.Element | null {
  const names = methodNames.value;
  if (names.length < 2) return null;
  const onKeyDown = (event: KeyboardEvent): void => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by) return;
    const next = names[(names.indexOf(app.method.value) + by + names.length) % names.length]!;
    showMethod(next);
    (event.currentTarget as HTMLElement)
      .querySelector<HTMLElement>(`[data-method="${next}"]`)
      ?.focus();
  };
  return (
    <section class="methods" aria-label="Methods">
      <div role="tablist" aria-label="Methods" onKeyDown={onKeyDown}>
        {names.map((name) => (
          <button
            key={name}
            type="button"
            role="tab"
            class="tab mono"
            data-method={name}
            aria-controls="pane"
            aria-selected={name === app.method.value}
            tabIndex={name === app.method.value ? 0 : -1}
            onClick={() => showMethod(name)}
          >
            {name}
          </button>
        ))}
      </div>
    </section>
  );
}
