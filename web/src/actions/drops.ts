// Files may be dropped anywhere on the page, or chosen from a dialog.
import { app } from "../state.js";
import { openFiles } from "./open.js";

export function chooseFiles(): void {
  const input = document.createElement("input");
  input.type = "file";
  input.multiple = true;
  input.accept = ".pt2,.pte,.bpte,.ptd,.etrecord,.etdp,.bin,.npy,image/*";
  input.onchange = () => void openFiles([...(input.files ?? [])]);
  input.click();
}

function hasFiles(event: DragEvent): boolean {
  return event.dataTransfer?.types.includes("Files") ?? false;
}

function onDrop(event: DragEvent): void {
  const items = [...(event.dataTransfer?.items ?? [])].filter(({ kind }) => kind === "file");
  // A folder arrives as a file that cannot be read.
  const isFolder = items.map((item) => item.webkitGetAsEntry()?.isDirectory ?? false);
  const files = [...(event.dataTransfer?.files ?? [])];
  void openFiles(
    files.filter((_, i) => !isFolder[i]),
    files.filter((_, i) => isFolder[i]),
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
