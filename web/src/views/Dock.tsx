// Problems and the log, at the bottom of every screen. An error is a card: what failed, where, what
// to do about it.
import type { JSX } from "preact";
import { showBounds, showNode, toggleDock } from "../actions.js";
import { canUngroup, leaveOut, ungroup } from "../actions/recipes.js";
import { openSizes } from "../derived.js";
import { profile } from "../profile.js";
import { app, type Problem } from "../state.js";
import { splitSource } from "../ui/format.js";
import { CopyButton } from "../ui/parts.js";
import { ProfilePanel } from "./ProfileView.js";
import { STEP_NAMES } from "../words.js";

function Where(props: { problem: Problem }): JSX.Element | null {
  const { step, method, node, op, source } = props.problem;
  const { place, code } = splitSource(source);
  if (!method && !node && !place && !step) return null;
  return (
    <dl class="where">
      {step ? (
        <div>
          <dt>step</dt>
          <dd>{STEP_NAMES[step]}</dd>
        </div>
      ) : null}
      {method ? (
        <div>
          <dt>method</dt>
          <dd class="mono">{method}</dd>
        </div>
      ) : null}
      {node ? (
        <div>
          <dt>node</dt>
          <dd>
            <button
              type="button"
              class="link mono"
              onClick={() => showNode(step ?? "source", method, node)}
            >
              {node}
            </button>
          </dd>
        </div>
      ) : null}
      {op ? (
        <div>
          <dt>operator</dt>
          <dd class="mono">{op}</dd>
        </div>
      ) : null}
      {place ? (
        <div class="own-line">
          <dt>your line</dt>
          <dd>
            <span class="mono">{place}</span>
            {code ? <code>{code}</code> : null}
          </dd>
        </div>
      ) : null}
    </dl>
  );
}

/**
 * True if the node can be left out. Wrong numbers would also be wrong in the nodes that read it.
 */
const canLeaveOut = ({ step, node, severity, code }: Problem): boolean =>
  step === "quantized" && node !== "" && severity === "error" && code !== "numeric";

function Card(props: { problem: Problem }): JSX.Element {
  const { problem } = props;
  return (
    <li class={`problem is-${problem.severity}`}>
      <p class="problem-message">
        <span class="severity">{problem.severity}</span>
        {problem.message}
      </p>
      <Where problem={problem} />
      {problem.hint ? <p class="problem-hint">{problem.hint}</p> : null}
      {problem.code === "unbounded" && openSizes.value.length > 0 ? (
        <button type="button" class="problem-go" onClick={showBounds}>
          Give largest sizes
        </button>
      ) : null}
      {canLeaveOut(problem) ? (
        <div class="buttons">
          <button type="button" onClick={() => leaveOut(problem.node)}>
            Skip it and lower again
          </button>
          {canUngroup(problem) ? (
            <button type="button" onClick={ungroup}>
              One scale per channel
            </button>
          ) : null}
        </div>
      ) : null}
      <CopyButton text={problem.details} label="Copy the whole diagnostic" />
    </li>
  );
}

function time(at: number): string {
  return new Date(at).toTimeString().slice(0, 8);
}

function countClass(problems: readonly Problem[]): string {
  if (problems.some(({ severity }) => severity === "error")) return "count is-bad";
  return problems.length > 0 ? "count is-warning" : "count";
}

export function Dock(): JSX.Element | null {
  const problems = app.problems.value;
  const open = app.dock.value;
  if (!app.document.value && problems.length === 0) return null;
  return (
    <section class={`dock is-${open}`} aria-label="Problems, log and profile">
      <p class="unseen" role="alert">
        {problems.at(-1)?.message}
      </p>
      <div class="dock-tabs">
        <button
          type="button"
          aria-expanded={open === "problems"}
          onClick={() => toggleDock("problems")}
        >
          Problems <span class={countClass(problems)}>{problems.length}</span>
        </button>
        <button type="button" aria-expanded={open === "log"} onClick={() => toggleDock("log")}>
          Log
        </button>
        {profile.value ? (
          <button
            type="button"
            aria-expanded={open === "profile"}
            onClick={() => toggleDock("profile")}
          >
            Profile
          </button>
        ) : null}
        <span class="soft dock-engine">
          {app.engine.value.status === "starting" ? "starting the engine" : ""}
        </span>
      </div>
      {open === "profile" && profile.value ? (
        <div class="dock-body dock-profile">
          <ProfilePanel shown={profile.value} />
        </div>
      ) : null}
      {open === "problems" ? (
        <ul class="dock-body problems">
          {problems.length === 0 ? <li class="soft">No problems.</li> : null}
          {problems.map((problem, i) => (
            <Card key={i} problem={problem} />
          ))}
        </ul>
      ) : null}
      {open === "log" ? (
        <ol class="dock-body log mono">
          {app.log.value.map((line, i) => (
            <li key={i}>
              <time>{time(line.at)}</time>
              {line.text}
            </li>
          ))}
        </ol>
      ) : null}
    </section>
  );
}
