// The pipeline is the navigation: one button per step with its time, nodes, bytes and share.
import type { StepId } from "../looks.js";
import type { JSX } from "preact";
import official from "../../../docs/official.json";
import { cancel, showStep } from "../actions.js";
import { shares } from "../delegates.js";
import { nodesAt, plan, runFault, shownSteps } from "../derived.js";
import { app, type Step } from "../state.js";
import { formatBytes, formatMs, formatShare, plural } from "../ui/format.js";
import { Bar } from "../ui/parts.js";
import { STEP_NAMES } from "../words.js";

const OFFICIAL_SOURCE =
  `Both methods, measured by the project on ${official.measured} with torch ${official.torch} ` +
  `and Python ${official.python} on ${official.machine} (docs/official.json)`;

function delegatedFacts(): string {
  const { value } = shares;
  if (!value) return "portable kernels only";
  if (value.taken.nodes === 0) return "no node was taken";
  return `${plural(value.taken.nodes, "node")} · ${formatShare(value.share)} of work`;
}

function facts(id: StepId, step: Step): string {
  if (step.status === "absent") return "not in this file";
  if (step.status === "failed") return "failed";
  if (step.status === "running") return "working";
  if (id === "run" && step.status === "done" && runFault.value) return "not possible here";
  if (id === "run" && step.status === "done") return step.note ?? "ready";
  if (id === "delegated" && step.status === "done") return delegatedFacts();
  const parts: string[] = [];
  const nodes = nodesAt(id);
  const bytes = id === "executorch" ? plan.value?.plannedBytes : step.bytes;
  if (nodes !== undefined) parts.push(plural(nodes, "node"));
  if (bytes !== undefined) parts.push(formatBytes(bytes));
  return parts.join(" · ");
}

function StepButton(props: { id: StepId; number: number; total: number }): JSX.Element {
  const { id, number } = props;
  const step = app.steps.value[id];
  const isShown = app.step.value === id;
  const fault = id === "run" && step.status === "done" ? runFault.value : undefined;
  const ms = step.status === "done" && !fault ? step.ms : undefined;
  return (
    <li class={`step is-${fault ? "failed" : step.status}`} data-step={id}>
      <button
        type="button"
        aria-current={isShown ? "step" : undefined}
        disabled={step.status === "absent"}
        onClick={() => showStep(id)}
        title={`${STEP_NAMES[id]} (${number})${fault ? `: ${fault.message}` : ""}`}
      >
        <span class="mark" aria-hidden="true" />
        <span class="name">{STEP_NAMES[id]}</span>
        <span class="ms">{ms === undefined ? "" : formatMs(ms)}</span>
        <span class="facts">{facts(id, step)}</span>
        {id === "run" || ms === undefined ? null : (
          <Bar share={props.total > 0 ? ms / props.total : 0} />
        )}
      </button>
    </li>
  );
}

function Total(): JSX.Element | null {
  const ms = app.lowerMs.value;
  if (ms === null) return null;
  return (
    <div class="total">
      <p>
        <span>Lowered in</span>
        <strong>{formatMs(ms)}</strong>
      </p>
      {app.document.value?.sample === "story" && !app.delegation.value ? (
        <p class="soft" title={OFFICIAL_SOURCE}>
          <span>executorch {official.executorch}</span>
          <span>{formatMs(official.seconds.stories260k * 1000)}</span>
        </p>
      ) : null}
    </div>
  );
}

function Progress(): JSX.Element | null {
  const busy = app.busy.value;
  if (!busy) return null;
  return (
    <div class="busy">
      <p>
        {busy.what}
        <span class="soft">{busy.phase}</span>
      </p>
      {busy.total > 0 ? (
        <progress max={busy.total} value={busy.done} aria-label={busy.what} />
      ) : (
        <progress aria-label={busy.what} />
      )}
      <button type="button" onClick={() => cancel()} title="Cancel (Esc)">
        Cancel
      </button>
    </div>
  );
}

/** For screen readers: the current work, and then its result. */
function announcement(): string {
  const [busy, ms] = [app.busy.value, app.lowerMs.value];
  if (busy) return busy.what;
  return ms === null ? "" : `Lowered in ${formatMs(ms)}`;
}

export function Spine(): JSX.Element {
  const steps = app.steps.value;
  const shown = shownSteps.value;
  const total = shown
    .filter((id) => id !== "run")
    .reduce((sum, id) => sum + (steps[id].ms ?? 0), 0);
  return (
    <nav class="spine" aria-label="Steps">
      <ol class={shown.length > 6 ? "is-long" : ""}>
        {shown.map((id, i) => (
          <StepButton key={id} id={id} number={i + 1} total={total} />
        ))}
      </ol>
      <p class="unseen" role="status">
        {announcement()}
      </p>
      <Total />
      <Progress />
    </nav>
  );
}
