// The box that "/" goes to: filters tables, finds in the text.
import type { JSX } from "preact";
import { setSearch } from "../actions.js";
import { app } from "../state.js";

export interface SearchBoxProps {
  label: string;
  placeholder: string;
  count: string;
  /** The text, and the function that hears of it; without them, those of the views of a version. */
  value?: string;
  onText?(text: string): void;
  onEnter?(back: boolean): void;
}

export function SearchBox(props: SearchBoxProps): JSX.Element {
  const { value = app.search.value, onText = setSearch } = props;
  return (
    <div class="searchbox">
      <input
        type="search"
        data-search
        aria-label={props.label}
        placeholder={props.placeholder}
        spellcheck={false}
        value={value}
        onInput={(event) => onText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter") props.onEnter?.(event.shiftKey);
          if (event.key === "Escape" && value) {
            event.stopPropagation();
            onText("");
          }
        }}
      />
      <span class="soft num" role="status">
        {props.count}
      </span>
    </div>
  );
}
