// The text of an empty view: the reason, and advice.
import type { JSX } from "preact";
import { chooseTokenizer, lowerAgain } from "../actions.js";
import { app } from "../state.js";

function reason(): string {
  const { status } = app.steps.value[app.step.value];
  if (status === "failed") return "This step failed; the card below gives the reason and advice.";
  if (app.busy.value) return "Working on it.";
  if (!app.canLook.value) return "The engine was stopped, and its data for this view is gone.";
  if (app.problems.value.some(({ severity }) => severity === "error"))
    return "Lowering stopped before this step.";
  return status === "done" ? "Fetching it." : "Cancelled before it got this far.";
}

export function Waiting(): JSX.Element {
  const canLower = app.document.value?.kind === "pt2" && app.busy.value === null;
  const isDone = app.steps.value[app.step.value].status === "done";
  return (
    <div class="waiting">
      <p>{reason()}</p>
      {canLower && !(isDone && app.canLook.value) ? (
        <button type="button" onClick={lowerAgain}>
          Lower it again
        </button>
      ) : null}
    </div>
  );
}

/** In the place of a view whose model or tokenizer could not be opened. */
export function NotOpened({ fault }: { readonly fault: string }): JSX.Element {
  return (
    <div class="waiting">
      <p>{fault}; the card below gives the reason and advice.</p>
      <button type="button" onClick={chooseTokenizer}>
        Choose another tokenizer
      </button>
    </div>
  );
}
