// Running a method: a form made from what it declares, results with their range, times. Samples
// come with a stage of their own above it.
import type { JSX } from "preact";
import type { ProgramMethodInfo, ProgramValueInfo } from "@sconce/types.js";
import { resetState, runMethod, setInput, setRepeat, takeArrays } from "../actions.js";
import { app, programMethod, type Filler, type InputForm } from "../state.js";
import { formatMs } from "../ui/format.js";
import { median } from "../ui/numbers.js";
import { FaceView } from "./FaceView.js";
import { Outputs } from "./Outputs.js";
import { describeValue } from "./ProgramView.js";
import { Waiting } from "./Waiting.js";
import { StoryView } from "./StoryView.js";

const FILLERS: readonly (readonly [Filler, string])[] = [
  ["random", "random"],
  ["zeros", "zeros"],
  ["ones", "ones"],
  ["numbers", "numbers"],
  ["file", ".npy file"],
];

interface FieldProps {
  method: string;
  index: number;
  info: ProgramValueInfo;
  form: InputForm;
}

function FileField(props: FieldProps): JSX.Element {
  return (
    <label class="file">
      <input
        type="file"
        accept=".npy"
        onChange={(event) => void takeArrays([...(event.currentTarget.files ?? [])], props.index)}
      />
      <span>{props.form.fileName || "Choose a file"}</span>
    </label>
  );
}

function TensorField(props: FieldProps): JSX.Element {
  const { method, index, info, form } = props;
  const id = `input-${index}`;
  return (
    <>
      <select
        id={id}
        value={form.filler}
        onChange={(e) => setInput(method, index, { filler: e.currentTarget.value as Filler })}
      >
        {FILLERS.map(([filler, name]) => (
          <option key={filler} value={filler}>
            {name}
          </option>
        ))}
      </select>
      {form.filler === "random" ? (
        <label class="inline">
          <span class="soft">seed</span>
          <input
            class="short num"
            type="number"
            value={form.seed}
            onInput={(e) => setInput(method, index, { seed: e.currentTarget.valueAsNumber || 0 })}
          />
        </label>
      ) : null}
      {form.filler === "numbers" ? (
        <input
          class="mono grow"
          value={form.text}
          placeholder="1, 2, 3"
          spellcheck={false}
          aria-label="Numbers"
          onInput={(e) => setInput(method, index, { text: e.currentTarget.value })}
        />
      ) : null}
      {form.filler === "file" ? <FileField {...props} /> : null}
      {info.dynamic && form.filler !== "file" ? (
        <label class="inline">
          <span class="soft">sizes</span>
          <input
            class="mono short"
            value={form.shape}
            spellcheck={false}
            onInput={(e) => setInput(method, index, { shape: e.currentTarget.value })}
          />
        </label>
      ) : null}
    </>
  );
}

function ScalarField(props: FieldProps): JSX.Element {
  const { method, index, info, form } = props;
  const id = `input-${index}`;
  if (info.kind === "none") return <span class="soft">nothing to give</span>;
  if (info.kind === "bool") {
    return (
      <input
        id={id}
        type="checkbox"
        checked={form.text === "true"}
        onChange={(e) => setInput(method, index, { text: String(e.currentTarget.checked) })}
      />
    );
  }
  return (
    <input
      id={id}
      class="mono"
      value={form.text}
      spellcheck={false}
      onInput={(e) => setInput(method, index, { text: e.currentTarget.value })}
    />
  );
}

function Field(props: FieldProps): JSX.Element {
  const { index, info, form } = props;
  return (
    <div class={form.error ? "input is-wrong" : "input"}>
      <label for={`input-${index}`}>
        Input {index} <span class="mono soft">{describeValue(info)}</span>
      </label>
      <div class="input-row">
        {info.kind === "tensor" ? <TensorField {...props} /> : <ScalarField {...props} />}
      </div>
      {form.error ? (
        <p class="field-error" role="alert">
          {form.error}
        </p>
      ) : null}
    </div>
  );
}

function wordsOf(times: readonly number[]): string {
  if (times.length === 1) return formatMs(times[0]!);
  const [middle, least] = [median(times), Math.min(...times)];
  return `${times.length} runs: median ${formatMs(middle)}, fastest ${formatMs(least)}`;
}

function Times(props: { times: readonly number[] }): JSX.Element | null {
  if (props.times.length === 0) return null;
  return (
    <p class="times num" role="status">
      {wordsOf(props.times)}
    </p>
  );
}

function Form(props: { method: ProgramMethodInfo }): JSX.Element | null {
  const { method } = props;
  const state = app.runs.value[method.name];
  if (!state) return null;
  return (
    <section class="run-form">
      <h2>
        Call <span class="mono">{method.name}</span> yourself
      </h2>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void runMethod(method.name);
        }}
      >
        {method.inputs.map((info, i) => (
          <Field
            key={`${method.name}/${i}`}
            method={method.name}
            index={i}
            info={info}
            form={state.inputs[i]!}
          />
        ))}
        {method.inputs.length === 0 ? <p class="soft">It takes no inputs.</p> : null}
        <div class="run-go">
          <button type="submit" class="primary" disabled={app.busy.value !== null}>
            Run
          </button>
          <label class="inline">
            <span class="soft">times</span>
            <select
              value={state.repeat}
              onChange={(e) => setRepeat(method.name, Number(e.currentTarget.value))}
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
            title="Buffers that the program writes get their first values back"
          >
            Reset state
          </button>
          <Times times={state.times} />
        </div>
      </form>
      <Outputs method={method.name} outputs={state.outputs} />
    </section>
  );
}

export function RunView(): JSX.Element {
  const method = programMethod.value;
  if (!app.program.value || !method) return <Waiting />;
  const sample = app.document.value?.sample;
  return (
    <div class="scroll run">
      {sample === "story" ? <StoryView /> : null}
      {sample === "face" ? <FaceView /> : null}
      <Form method={method} />
    </div>
  );
}
