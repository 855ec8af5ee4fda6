// Running a method: a form made from what it declares, results with their range, times. Samples
// come with a view of their own above it.
import type { JSX } from "preact";
import type { ProgramMethodInfo } from "@sconce/types/index.js";
import { chooseTokenizer, resetState, runMethod, setRepeat, takeRecordInputs } from "../actions.js";
import { backendName, methodDelegation, shares } from "../delegates.js";
import {
  looksLikeLanguageModel,
  looksLikeSpeech,
  programMethod,
  recordInputsFor,
  runFault,
  usesRecordInputs,
} from "../derived.js";
import { app, type RunState } from "../state.js";
import { formatBytes, formatCount, formatMs, formatShare, plural } from "../ui/format.js";
import { FieldError } from "../ui/parts.js";
import { median } from "../ui/numbers.js";
import { InputField } from "./InputField.js";
import { Outputs } from "./Outputs.js";
import { later } from "./later.js";
import { Waiting } from "./Waiting.js";

const FaceView = later(async () => (await import("./FaceView.js")).FaceView);

function wordsOf(times: readonly number[]): string {
  if (times.length === 1) return formatMs(times[0]!);
  const [middle, least] = [median(times), Math.min(...times)];
  return `${times.length} runs: median ${formatMs(middle)}, fastest ${formatMs(least)}`;
}

function Go(props: { method: string; state: RunState }): JSX.Element {
  const { method, state } = props;
  return (
    <div class="run-go">
      <button
        type="submit"
        class="primary"
        disabled={app.busy.value !== null || runFault.value !== undefined}
      >
        Run
      </button>
      <label class="inline">
        <span class="soft">times</span>
        <select
          value={state.repeat}
          onChange={(e) => setRepeat(method, Number(e.currentTarget.value))}
        >
          {[1, 10, 100, 1000].map((n) => (
            <option key={n} value={n}>
              {n}
            </option>
          ))}
        </select>
      </label>
      <button
        type="button"
        class="quiet"
        onClick={() => void resetState()}
        title="Buffers that the program writes get their initial values back"
      >
        Reset state
      </button>
      <p class="times num" role="status">
        {state.times.length > 0 ? wordsOf(state.times) : ""}
      </p>
    </div>
  );
}

function Form(props: { method: ProgramMethodInfo; state: RunState }): JSX.Element {
  const { method, state } = props;
  const fault = runFault.value;
  return (
    <>
      <FieldError
        text={
          fault ? `It cannot run here: ${fault.message}. Lower the model again without it.` : ""
        }
      />
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void runMethod(method.name);
        }}
      >
        {recordInputsFor(method.name) && !usesRecordInputs(method.name) ? (
          <p class="from-record">
            <span class="soft">The record holds inputs for this method.</span>{" "}
            <button type="button" class="link" onClick={() => takeRecordInputs(method.name)}>
              Use as inputs
            </button>
          </p>
        ) : null}
        {method.inputs.map((info, i) => (
          <InputField
            key={`${method.name}/${i}`}
            method={method.name}
            index={i}
            info={info}
            form={state.inputs[i]!}
          />
        ))}
        {method.inputs.length === 0 ? <p class="soft">It takes no inputs.</p> : null}
        <Go method={method.name} state={state} />
      </form>
      <Outputs method={method.name} outputs={state.outputs} />
    </>
  );
}

/** A backend's share of the method: nodes, if that was decided here, else bytes of the file. */
function wordsOfBackend(id: string, method: ProgramMethodInfo): string {
  const own = method.parts.filter(({ backend }) => backend === id);
  const nodes = methodDelegation.value?.delegates
    .filter(({ backend }) => backend === id)
    .reduce((sum, part) => sum + part.nodes, 0);
  const bytes = own.reduce((sum, part) => sum + part.bytes, 0);
  const size = nodes === undefined ? formatBytes(bytes) : plural(nodes, "node");
  return `${plural(own.length, "delegate")}, ${size}`;
}

/** The runners of a program with delegates: each backend, and the kernels. */
function Runners(props: { method: ProgramMethodInfo }): JSX.Element | null {
  const { delegates, ops } = props.method;
  if (delegates.length === 0) return null;
  const calls = Object.values(ops).reduce((sum, count) => sum + count, 0);
  const share = shares.value ? `, ${formatShare(shares.value.share)} of the work` : "";
  return (
    <section>
      <h2>
        Who runs <span class="mono">{props.method.name}</span>
      </h2>
      <ul class="ports runners">
        {delegates.map((id, i) => (
          <li key={id}>
            <span class="mono" title={id}>
              {backendName(id)}
            </span>
            <span class="soft">
              {wordsOfBackend(id, props.method)}
              {i === 0 && delegates.length === 1 ? share : ""}
            </span>
          </li>
        ))}
        <li>
          <span>portable kernels</span>
          <span class="soft">
            {calls === 0 ? "no instruction" : `${formatCount(calls)} of its instructions`}
          </span>
        </li>
      </ul>
    </section>
  );
}

/** The way to a conversation or to text, for programs that look like models of language or speech. */
function Tokenizer(): JSX.Element {
  const isSpeech = looksLikeSpeech.value;
  return (
    <section class="tokenizer">
      <p>
        This looks like a {isSpeech ? "speech" : "language"} model. Add{" "}
        <span class="mono">tokenizer.json</span>, with{" "}
        <span class="mono">tokenizer_config.json</span> from the same folder,{" "}
        {isSpeech ? "to turn speech into text" : "to talk with it"}.
      </p>
      <button type="button" onClick={chooseTokenizer}>
        Choose its tokenizer
      </button>
    </section>
  );
}

export function RunView(): JSX.Element {
  const method = programMethod.value;
  const state = method && app.runs.value[method.name];
  if (!method || !state) return <Waiting />;
  const { sample, tokenizer } = app.document.value ?? {};
  const hasView = sample === "face";
  return (
    <div class="scroll run">
      {(looksLikeLanguageModel.value || looksLikeSpeech.value) && !tokenizer ? <Tokenizer /> : null}
      {sample === "face" ? <FaceView /> : null}
      <Runners method={method} />
      <details key={sample} class="run-form" open={!hasView || state.times.length > 0}>
        <summary>
          Call <span class="mono">{method.name}</span> with your own inputs
        </summary>
        <Form method={method} state={state} />
      </details>
    </div>
  );
}
