// One input of a method: made up, typed, from the record or from a file.
import type { JSX } from "preact";
import type { ProgramValueInfo } from "@sconce/types/index.js";
import { SEED_MAX, setInput, takeArrays } from "../actions.js";
import { recordInputsFor } from "../derived.js";
import type { Filler, InputForm } from "../state.js";
import { formatCount } from "../ui/format.js";
import { FieldError } from "../ui/parts.js";
import { describeValue } from "./ProgramView.js";

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

/** Ties a field to what is wrong with it. */
function wrong({ index, form }: FieldProps): {
  "aria-invalid": boolean;
  "aria-describedby": string | undefined;
} {
  return {
    "aria-invalid": form.error !== "",
    "aria-describedby": form.error ? `fault-${index}` : undefined,
  };
}

function FileField(props: FieldProps): JSX.Element {
  return (
    <label class="file">
      <input
        type="file"
        accept=".npy"
        onChange={(event) => void takeArrays([...(event.currentTarget.files ?? [])], props.index)}
        {...wrong(props)}
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
        {recordInputsFor(method) ? <option value="record">from the record</option> : null}
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
            inputMode="numeric"
            autocomplete="off"
            value={form.seed}
            title={`A whole number from 0 to ${formatCount(SEED_MAX)}`}
            {...wrong(props)}
            onInput={(e) => setInput(method, index, { seed: e.currentTarget.value })}
          />
        </label>
      ) : null}
      {form.filler === "numbers" ? (
        <input
          class="mono grow"
          value={form.text}
          {...wrong(props)}
          placeholder="1, 2, 3"
          spellcheck={false}
          aria-label="Numbers"
          onInput={(e) => setInput(method, index, { text: e.currentTarget.value })}
        />
      ) : null}
      {form.filler === "file" ? <FileField {...props} /> : null}
      {info.dynamic && form.filler !== "file" && form.filler !== "record" ? (
        <label class="inline">
          <span class="soft">sizes</span>
          <input
            class="mono short"
            value={form.shape}
            {...wrong(props)}
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
      {...wrong(props)}
      onInput={(e) => setInput(method, index, { text: e.currentTarget.value })}
    />
  );
}

export function InputField(props: FieldProps): JSX.Element {
  const { index, info, form } = props;
  return (
    <div class={form.error ? "input is-wrong" : "input"}>
      <label for={`input-${index}`}>
        Input {index} <span class="mono soft">{describeValue(info)}</span>
      </label>
      <div class="input-row">
        {info.kind === "tensor" ? <TensorField {...props} /> : <ScalarField {...props} />}
      </div>
      <FieldError id={`fault-${index}`} text={form.error} />
    </div>
  );
}
