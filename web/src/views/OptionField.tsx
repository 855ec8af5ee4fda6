// A field of the lowering settings, made from the option's row in options.def.
import type { JSX } from "preact";
import type { Bounds, Option } from "@sconce/border/option.js";
import { isCount, isTaken } from "@sconce/call/options.js";
import { setBound, setOption } from "../actions.js";
import { openSizes } from "../derived.js";
import { app } from "../state.js";

function Words(props: { option: Option }): JSX.Element {
  const { label, sentence } = props.option;
  return (
    <span>
      {label}
      <span class="soft note">{sentence.replace(/\.$/, "")}</span>
    </span>
  );
}

function CheckField(props: { option: Option; value: unknown }): JSX.Element {
  const { option } = props;
  return (
    <label class="check">
      <input
        type="checkbox"
        checked={props.value === true}
        onChange={(e) => setOption(option.name, e.currentTarget.checked)}
      />
      <Words option={option} />
    </label>
  );
}

function ChoiceField(props: {
  option: Option;
  value: unknown;
  words: readonly string[];
}): JSX.Element {
  const { option } = props;
  return (
    <label class="field">
      <Words option={option} />
      <select
        value={String(props.value)}
        onChange={(e) => setOption(option.name, e.currentTarget.value)}
      >
        {props.words.map((word) => (
          <option key={word}>{word}</option>
        ))}
      </select>
    </label>
  );
}

function NamesField(props: { option: Option; value: readonly string[] }): JSX.Element {
  const { option, value } = props;
  return (
    <label class="field">
      <Words option={option} />
      <input
        type="text"
        class="mono"
        spellcheck={false}
        defaultValue={value.join(" ")}
        onInput={(e) => setOption(option.name, e.currentTarget.value.match(/[^\s,]+/g) ?? [])}
      />
    </label>
  );
}

/** Files of weights: off, one file for all, or rules of the form PATTERN=FILE. */
function FilesField(props: { option: Option; value: unknown }): JSX.Element {
  const { option, value } = props;
  const rules = typeof value === "object" ? Object.entries(value as Record<string, string>) : [];
  const read = (text: string): unknown => {
    const pairs = (text.match(/[^\s,]+/g) ?? []).map((word) => {
      const at = word.lastIndexOf("=");
      return [word.slice(0, Math.max(at, 0)), word.slice(at + 1) || null];
    });
    return pairs.length > 0 ? Object.fromEntries(pairs) : true;
  };
  return (
    <>
      <CheckField option={option} value={value !== false} />
      {value !== false && (
        <label class="field">
          <span>
            Which weights
            <span class="soft note">
              PATTERN=FILE, such as <span class="mono">base.*=foundation</span>; empty: all
            </span>
          </span>
          <input
            type="text"
            class="mono"
            spellcheck={false}
            placeholder="all, in one file"
            defaultValue={rules.map((pair) => pair.join("=")).join(" ")}
            aria-invalid={!isTaken(option, value)}
            onInput={(e) => setOption(option.name, read(e.currentTarget.value))}
          />
        </label>
      )}
    </>
  );
}

function NumberField(props: { option: Option; value: unknown }): JSX.Element {
  const { option, value } = props;
  return (
    <label class="field">
      <Words option={option} />
      <input
        type="number"
        defaultValue={String(value)}
        aria-invalid={!isTaken(option, value)}
        onInput={(e) => setOption(option.name, e.currentTarget.valueAsNumber)}
      />
    </label>
  );
}

/** One field for each size that the files leave open. */
function BoundFields(props: { option: Option; bounds: Bounds }): JSX.Element {
  const { option, bounds } = props;
  const several = new Set(openSizes.value.map(({ method }) => method)).size > 1;
  return (
    <>
      {openSizes.value.map(({ name, symbol, method, size, place, example }) => {
        const max = bounds[name]?.max;
        return (
          <label key={name} class="field">
            <span>
              Largest <span class="mono">{size ?? symbol}</span>
              <span class="soft note">
                symbol <span class="mono">{symbol}</span>
                {several ? (
                  <>
                    {" of "}
                    <span class="mono">{method}</span>
                  </>
                ) : null}
                , which has no maximum
                {size === null ? (
                  <>
                    {"; seen in "}
                    <span class="mono">{place}</span>
                  </>
                ) : null}
                {example === null ? "" : `; ${example} in the example`}
              </span>
            </span>
            <input
              type="number"
              data-bound={name}
              min={1}
              value={max}
              aria-invalid={max !== undefined && !isCount(max)}
              onInput={(e) => setBound(option.name, bounds, name, e.currentTarget.valueAsNumber)}
            />
          </label>
        );
      })}
    </>
  );
}

export function OptionField(props: { option: Option }): JSX.Element {
  const { option } = props;
  const value = app.document.value?.settings.options[option.name] ?? option.default;
  if (option.kind === "bool") return <CheckField option={option} value={value} />;
  if (option.kind === "files") return <FilesField option={option} value={value} />;
  if (option.kind === "bounds") return <BoundFields option={option} bounds={value as Bounds} />;
  if (option.kind === "choice" || option.kind === "planner" || option.kind === "sizes")
    return <ChoiceField option={option} value={value} words={option.words} />;
  if (option.kind === "names")
    return <NamesField option={option} value={value as readonly string[]} />;
  return <NumberField option={option} value={value} />;
}
