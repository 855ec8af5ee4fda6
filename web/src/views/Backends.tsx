// The backends that take nodes of each method, and their settings.
import type { JSX } from "preact";
import { optionsOf } from "@sconce/call/options.js";
import { setBackend, setVerifies } from "../actions.js";
import { versionOf } from "../derived.js";
import { app, type Document } from "../state.js";
import { OptionField } from "./OptionField.js";

function BackendField(props: { method: string; name: string; chosen: string }): JSX.Element {
  const { method, name, chosen } = props;
  const row = app.backends.value.find((backend) => backend.name === chosen);
  return (
    <label class="field">
      <span>
        {name ? <span class="mono">{name}</span> : "Backend"}
        <span class="soft note">
          {row ? row.summary.replace(/\.$/, "") : "Every node runs on the portable kernels"}
        </span>
      </span>
      <select
        data-backend={method}
        value={chosen}
        onChange={(event) => setBackend(method, event.currentTarget.value)}
      >
        <option value="">portable kernels</option>
        {app.backends.value.map((backend) => (
          <option key={backend.name} value={backend.name}>
            {backend.name}
          </option>
        ))}
      </select>
    </label>
  );
}

export function Backends(props: { document: Document }): JSX.Element | null {
  const { files, settings } = props.document;
  const methods = versionOf(app.report.value, "source")?.methods ?? [];
  if (methods.length === 0 || app.backends.value.length === 0) return null;
  // Names may have been edited since the files were read.
  const nameOf = (i: number): string =>
    files.length === methods.length && files.length > 1 ? files[i]!.method : methods[i]!.name;
  return (
    <fieldset>
      <legend>{methods.length > 1 ? "Backends" : "Backend"}</legend>
      {methods.map(({ name }, i) => (
        <BackendField
          key={name}
          method={name}
          name={methods.length > 1 ? nameOf(i) : ""}
          chosen={settings.backends[name] ?? ""}
        />
      ))}
      {Object.keys(settings.backends).length > 0 ? (
        <>
          {optionsOf("toBackend")
            .filter(({ place }) => place === "always" || (place === "several" && files.length > 1))
            .map((option) => (
              <OptionField key={option.name} option={option} />
            ))}
          <label class="check">
            <input
              type="checkbox"
              checked={settings.verifies}
              onChange={(event) => setVerifies(event.currentTarget.checked)}
            />
            <span>
              Verify
              <span class="soft note">Also run it without delegates, and compare the results</span>
            </span>
          </label>
        </>
      ) : null}
    </fieldset>
  );
}
