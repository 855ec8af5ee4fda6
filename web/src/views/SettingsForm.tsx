// What can be set about lowering. The first lowering happens by itself; this changes the next one.
import type { JSX } from "preact";
import { lowerAgain, renameMethod, setSettings, settingsFault } from "../actions.js";
import { app, type Settings } from "../state.js";
import { formatBytes } from "../ui/format.js";
import { FieldError } from "../ui/parts.js";

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
  const isIdle = app.busy.value === null;
  return (
    <details class="settings" open={files.length > 1 || document.isEdited}>
      <summary>Lowering settings</summary>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (!fault) lowerAgain();
        }}
      >
        <Names />
        <fieldset>
          <legend>Options</legend>
          {files.length > 1 ? (
            <label class="check">
              <input
                type="checkbox"
                checked={settings.shareState}
                onChange={(e) => setSettings({ shareState: e.currentTarget.checked })}
              />
              <span>
                Methods share state
                <span class="soft">Buffers of equal name are one, such as a cache</span>
              </span>
            </label>
          ) : null}
          <label class="check">
            <input
              type="checkbox"
              checked={settings.externalConstants}
              onChange={(e) => setSettings({ externalConstants: e.currentTarget.checked })}
            />
            <span>
              Weights in a file of their own<span class="soft">A .ptd beside the .pte</span>
            </span>
          </label>
          <label class="field">
            <span>Memory planning</span>
            <select
              value={settings.memoryPlanning}
              onChange={(e) =>
                setSettings({ memoryPlanning: e.currentTarget.value as Settings["memoryPlanning"] })
              }
            >
              <option value="best">best of several</option>
              <option value="greedy">greedy</option>
              <option value="naive">naive, no reuse</option>
            </select>
          </label>
        </fieldset>
        <fieldset>
          <legend>Constant methods</legend>
          <label class="field">
            <span class="soft">One a line: name = value</span>
            <textarea
              class="mono"
              rows={2}
              spellcheck={false}
              value={settings.constants}
              placeholder="get_max_seq_len = 256"
              onInput={(e) => setSettings({ constants: e.currentTarget.value })}
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
