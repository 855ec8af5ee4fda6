// The box that "/" goes to: filters the table, finds in the text.
import type { JSX } from "preact";
import { setSearch } from "../actions.js";
import { app } from "../state.js";

export interface SearchBoxProps {
  label: string;
  placeholder: string;
  count: string;
  onEnter?(back: boolean): void;
}

export function SearchBox(props: SearchBoxProps): JSX.Element {
  return (
    <div class="searchbox">
      <input
        type="search"
        data-search
        aria-label={props.label}
        placeholder={props.placeholder}
        spellcheck={false}
        value={app.search.value}
        onInput={(event) => setSearch(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter") props.onEnter?.(event.shiftKey);
          if (event.key === "Escape" && app.search.value) {
            event.stopPropagation();
            setSearch("");
          }
        }}
      />
      <span class="soft num" role="status">
        {props.count}
      </span>
    </div>
  );
}
