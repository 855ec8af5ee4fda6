// The open document in the address: "#story" is a sample, an empty one is the first screen or files
// of the user's own. Back and forward go between them.
import { app, type SampleId } from "../state.js";
import { openSample } from "./demos.js";
import { cancel } from "./task.js";
import { closeDocument } from "./lower.js";
import { isSample } from "./samples.js";

function go(hash: string): void {
  if (location.hash !== hash) history.pushState(null, "", hash || location.pathname);
}

function close(): void {
  cancel("");
  closeDocument();
}

/** Back to the first screen. */
export function goHome(): void {
  go("");
  close();
}

/** The user's own files take a sample's place. */
export function leaveSample(): void {
  go("");
}

export function showSample(id: SampleId): void {
  go(`#${id}`);
  void openSample(id);
}

function follow(): void {
  const id = location.hash.slice(1);
  if (!isSample(id)) close();
  else if (app.document.value?.sample !== id) void openSample(id);
}

/** A link may name a sample: page#story. */
export function watchAddress(): void {
  addEventListener("popstate", follow);
  if (location.hash) follow();
}
