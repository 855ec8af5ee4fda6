// Calibration data, or data to compare with the float program: dropped here, chosen, or written.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import {
  calibrateOn,
  calibrateOnPhoto,
  calibrateOnText,
  countsOf,
  dropCalibration,
  faultsOf,
  placesOf,
} from "../actions/calibration.js";
import { versionOf } from "../derived.js";
import { app, type Calibration } from "../state.js";
import { plural } from "../ui/format.js";
import { FieldError } from "../ui/parts.js";

const methodNames = (): string[] =>
  versionOf(app.report.value, "source")?.methods.map(({ name }) => name) ?? [];

interface ItemProps {
  item: Calibration;
  index: number;
  place: string;
  fault: string;
}

function Item(props: ItemProps): JSX.Element {
  const { item, index, place, fault } = props;
  return (
    <li class={fault ? "is-wrong" : ""}>
      <span class="calibration-name">
        <span title={item.name}>{item.name}</span>
        {place ? (
          <span class="soft mono calibration-place" title={place}>
            {place}
          </span>
        ) : null}
      </span>
      <span class="soft num">{fault ? "" : item.words}</span>
      <button
        type="button"
        class="icon"
        aria-label={`Remove ${item.name}`}
        title="Remove"
        onClick={() => dropCalibration(index)}
      >
        ×
      </button>
      <FieldError text={fault} />
    </li>
  );
}

/** The source of ranges, in words. */
function words(isCalibrated: boolean, counts: Readonly<Record<string, number>>): string {
  const names = methodNames();
  const known = names
    .filter((name) => counts[name])
    .map((name) => plural(counts[name]!, "call") + (names.length > 1 ? ` of ${name}` : ""));
  const lacks = names.some((name) => !counts[name]);
  const rest = `the example inputs of the ${names.length > 1 ? "files" : "file"}`;
  const from = known.length === 0 ? rest : known.join(", ") + (lacks ? `, and ${rest}` : "");
  return isCalibrated ? `Ranges come from ${from}.` : `Compared on ${from}.`;
}

function TextField(): JSX.Element {
  const [text, setText] = useState("");
  const add = (): void => {
    void calibrateOnText(text);
    setText("");
  };
  return (
    <div class="calibration-text">
      <label class="field">
        <span class="soft">Beginnings of stories, one per line</span>
        <textarea rows={2} value={text} onInput={(event) => setText(event.currentTarget.value)} />
      </label>
      <button type="button" disabled={text.trim() === ""} onClick={add}>
        Add
      </button>
    </div>
  );
}

const ACCEPTED = { face: ".npy,image/*", story: ".npy,.txt,text/plain", mlp: ".npy" } as const;
const DROPPED = {
  face: ".npy files or pictures",
  story: ".npy files or text",
  mlp: ".npy files",
} as const;

function Drop(props: { method: string }): JSX.Element {
  const { method } = props;
  const [isOver, setOver] = useState(false);
  const sample = app.document.value!.sample ?? "mlp";
  return (
    <div
      class={isOver ? "calibration-drop is-over" : "calibration-drop"}
      data-calibration
      onDragEnter={() => setOver(true)}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        // The page opens what nobody has taken.
        event.preventDefault();
        setOver(false);
        void calibrateOn([...(event.dataTransfer?.files ?? [])], method);
      }}
    >
      <p>
        Drop {DROPPED[sample]} here{" "}
        <span class="soft">one for each input, in their order, call after call</span>
      </p>
      <div class="buttons">
        <label class="file">
          <input
            type="file"
            multiple
            accept={ACCEPTED[sample]}
            aria-label="Choose calibration files"
            onChange={(event) => {
              void calibrateOn([...(event.currentTarget.files ?? [])], method);
              event.currentTarget.value = "";
            }}
          />
          <span>Choose files</span>
        </label>
        {sample === "face" ? (
          <button type="button" onClick={() => void calibrateOnPhoto()}>
            Add the photo
          </button>
        ) : null}
      </div>
    </div>
  );
}

export function CalibrationField(props: { isCalibrated: boolean }): JSX.Element {
  const { isCalibrated } = props;
  const { quantizing } = app.document.value!.settings;
  const { calibration } = quantizing;
  const names = methodNames();
  const [asked, setMethod] = useState("");
  const method = names.includes(asked) ? asked : (names[0] ?? "");
  const faults = faultsOf(calibration);
  const places = placesOf(calibration);
  const { counts, fault } = countsOf(quantizing);
  return (
    <fieldset class="calibration">
      <legend>{isCalibrated ? "Calibration" : "Inputs to compare on"}</legend>
      {names.length > 1 ? (
        <label class="inline">
          <span class="soft">Arrays are for</span>
          <select
            class="mono"
            value={method}
            onChange={(event) => setMethod(event.currentTarget.value)}
          >
            {names.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
      ) : null}
      <Drop method={method} />
      {app.document.value!.sample === "story" ? <TextField /> : null}
      {calibration.length > 0 ? (
        <ul class="calibration-list">
          {calibration.map((item, i) => (
            <Item key={i} item={item} index={i} place={places[i]!} fault={faults[i]!} />
          ))}
        </ul>
      ) : null}
      {fault ? (
        faults.some(Boolean) ? null : (
          <FieldError text={fault} />
        )
      ) : (
        <p class="soft" role="status">
          {words(isCalibrated, counts)}
        </p>
      )}
    </fieldset>
  );
}
