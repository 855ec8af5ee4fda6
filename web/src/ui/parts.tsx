// Small parts that several views share.
import { Fragment, type ComponentChildren, type JSX } from "preact";
import { useState } from "preact/hooks";
import type { OpFamily } from "@sconce/types/index.js";
import { copy } from "../actions.js";
import type { Part } from "../delegates.js";
import { formatCount } from "./format.js";

export function Key(props: { children: ComponentChildren }): JSX.Element {
  return <kbd>{props.children}</kbd>;
}

/** Copies a text and says that it did. */
export function CopyButton(props: { text: string; label: string }): JSX.Element {
  const [state, setState] = useState("");
  const onClick = async (): Promise<void> => {
    setState((await copy(props.text)) ? "Copied" : "Copying is not allowed here");
    setTimeout(() => setState(""), 2000);
  };
  return (
    <button type="button" class="quiet" onClick={onClick}>
      {state || props.label}
    </button>
  );
}

/** A figure with its name, as in "planned 25.6 KB". */
export function Figure(props: {
  name: string;
  children: ComponentChildren;
  title?: string;
}): JSX.Element {
  return (
    <div class="figure" title={props.title}>
      <dt>{props.name}</dt>
      <dd>{props.children}</dd>
    </div>
  );
}

/** A horizontal bar that fills a share of its room. */
export function Bar(props: { share: number; class?: string }): JSX.Element {
  const percent = Math.max(0, Math.min(1, props.share)) * 100;
  return (
    <span class={`bar ${props.class ?? ""}`} aria-hidden="true">
      <span style={{ width: `${percent}%` }} />
    </span>
  );
}

/** What is wrong with a field, beside it; `id` ties the two together for screen readers. */
export function FieldError(props: { text: string; id?: string }): JSX.Element | null {
  if (!props.text) return null;
  return (
    <p class="field-error" role="alert" id={props.id}>
      {props.text}
    </p>
  );
}

/** A long name that may break after its dots and underscores. */
export function LongName(props: { name: string }): JSX.Element {
  return (
    <>
      {props.name.split(/(?<=[_.:])(?=[^_.:])/).map((part, i) => (
        <Fragment key={i}>
          {part}
          <wbr />
        </Fragment>
      ))}
    </>
  );
}

/** What has a colour of its own: families of operators, what comes from outside, what backends run. */
export type Hue = OpFamily | "input" | "delegate";

export function Swatch(props: { family: Hue }): JSX.Element {
  return <span class={`swatch family-${props.family}`} aria-hidden="true" />;
}

/** Who has a node: a part in its hue, with its name. */
export function PartLabel(props: { part: Pick<Part, "label" | "hue"> }): JSX.Element {
  return (
    <span class="part-label" style={props.part.hue}>
      <span class="swatch" aria-hidden="true" />
      {props.part.label}
    </span>
  );
}

/** Rows of a list that are shown at once; the rest on demand. */
export const FIRST = 50;

export function More(props: { left: number; onClick: () => void }): JSX.Element | null {
  if (props.left <= 0) return null;
  return (
    <button type="button" class="quiet more" onClick={props.onClick}>
      Show {formatCount(Math.min(props.left, FIRST))} more
      {props.left > FIRST ? ` of ${formatCount(props.left)}` : ""}
    </button>
  );
}

export function Logo(): JSX.Element {
  return (
    <svg class="logo" viewBox="0 0 20 24" aria-hidden="true">
      <path
        class="flame"
        d="M10 1c3.4 4.200 5 6.300 5 9.200a5 5 0 0 1-10 0C5 7.300 6.600 5.200 10 1z"
      />
      <path d="M2.500 18h15l-2.700 4H5.200z" />
    </svg>
  );
}
