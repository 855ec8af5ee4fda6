// Files may be dropped anywhere on the page, or chosen from a dialog.
import { app } from "../state.js";
import { folderOf } from "./folders.js";
import { openFiles } from "./open.js";

const TOKENIZER = ".json,.jinja,.bin";

function choose(accept: string): void {
  const input = document.createElement("input");
  input.type = "file";
  input.multiple = true;
  input.accept = accept;
  input.onchange = () => void openFiles([...(input.files ?? [])]);
  input.click();
}

export const chooseFiles = (): void =>
  choose(`.pt2,.pte,.bpte,.ptd,.etrecord,.etdp,.npy,image/*,audio/*,${TOKENIZER}`);

/** Chooses files of some types for a part of the page, which takes them as if they were dropped. */
export const chooseTypes = choose;

/** Chooses tokenizer.json and what belongs to it, for the program that is open. */
export const chooseTokenizer = (): void => choose(TOKENIZER);

function hasFiles(event: DragEvent): boolean {
  return event.dataTransfer?.types.includes("Files") ?? false;
}

function onDrop(event: DragEvent): void {
  const items = [...(event.dataTransfer?.items ?? [])].filter(({ kind }) => kind === "file");
  // A folder arrives as a file that cannot be read, and only now as an entry that can.
  const folders = items.map((item) => folderOf(item.webkitGetAsEntry()));
  const files = [...(event.dataTransfer?.files ?? [])];
  void openFiles(
    files.filter((_, i) => !folders[i]),
    folders.filter((folder) => folder !== null),
  );
}

export function watchDrops(): void {
  let depth = 0;
  addEventListener("dragenter", (event) => {
    if (hasFiles(event) && ++depth > 0) app.dragging.value = true;
  });
  addEventListener("dragleave", (event) => {
    if (hasFiles(event) && --depth <= 0) app.dragging.value = false;
  });
  addEventListener("dragover", (event) => event.preventDefault());
  addEventListener("drop", (event) => {
    // A field has taken it.
    const isTaken = event.defaultPrevented;
    event.preventDefault();
    depth = 0;
    app.dragging.value = false;
    if (!isTaken) onDrop(event);
  });
}
