// Files out of the page and into it: downloads, and the bundled models beside it.
import { fault } from "./problems.js";

export function download(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // The browser has taken the file over by then.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** A bundled file as a Blob: the worker then reads slices of it. */
export async function fetchModel(fileName: string): Promise<Blob> {
  const url = new URL(`models/${fileName}`, document.baseURI);
  const response = await fetch(url).catch(() => null);
  if (response?.ok) return response.blob();
  const why = response ? `the server answered ${response.status}` : "there is no connection";
  throw fault(
    "io",
    `${fileName} could not be fetched: ${why}`,
    "Check that the page is served together with its models folder, and try again.",
  );
}
