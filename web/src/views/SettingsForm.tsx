// Settings of lowering. The first lowering happens by itself; this changes the next one.
import type { JSX } from "preact";
import { OPTIONS } from "@sconce/border/options.gen.js";
import { lowerAgain, renameMethod, setConstants, settingsFault } from "../actions.js";
import { openSizes } from "../derived.js";
import { app } from "../state.js";
import { formatBytes } from "../ui/format.js";
import { FieldError } from "../ui/parts.js";
import { Backends } from "./Backends.js";
import { later } from "./later.js";
import { OptionField } from "./OptionField.js";

const Recipe = later(async () => (await import("./RecipeFields.js")).RecipeFields);

function Names(): JSX.Element | null {
  const files = app.document.value?.files ?? [];
  if (files.length < 2) return null;
  return (
    <fieldset>
      <legend>Methods</legend>
      {files.map((item, i) => (
        <label key={i} class="field">
          <span class="soft" title={item.fileName}>
            {item.fileName} · {formatBytes(item.file.size)}
          </span>
          <input
            class="mono"
            value={item.method}
            spellcheck={false}
            aria-label={`Method name of ${item.fileName}`}
            onInput={(event) => renameMethod(i, event.currentTarget.value)}
          />
        </label>
      ))}
    </fieldset>
  );
}

export function SettingsForm(): JSX.Element | null {
  const document = app.document.value;
  if (!document || document.kind !== "pt2") return null;
  const { settings, files } = document;
  const fault = settingsFault(document);
  const options = OPTIONS.filter(
    ({ call, place }) =>
      call !== "toBackend" && (place === "always" || (place === "several" && files.length > 1)),
  );
  const isIdle = app.busy.value === null;
  return (
    <details
      class="settings"
      open={
        files.length > 1 ||
        document.isEdited ||
        openSizes.value.length > 0 ||
        Object.keys(settings.backends).length > 0
      }
    >
      <summary>Lowering settings</summary>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (!fault) lowerAgain();
        }}
      >
        <Names />
        <Recipe />
        <Backends document={document} />
        <fieldset>
          <legend>Options</legend>
          {options.map((option) => (
            <OptionField key={option.name} option={option} />
          ))}
        </fieldset>
        <fieldset>
          <legend>Constant methods</legend>
          <label class="field">
            <span class="soft">One per line: name = a number, text, or JSON</span>
            <textarea
              class="mono"
              rows={2}
              spellcheck={false}
              value={settings.constants}
              placeholder="get_max_seq_len = 256"
              onInput={(e) => setConstants(e.currentTarget.value)}
            />
          </label>
        </fieldset>
        <div class="settings-go">
          <button
            type="submit"
            class={document.isEdited ? "primary" : ""}
            disabled={!isIdle || fault !== ""}
          >
            Lower again
          </button>
          <FieldError text={fault} />
        </div>
      </form>
    </details>
  );
}
