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

/** A file that lies beside the page, as a Blob: the worker then reads slices of it. */
export async function fetchBeside(path: string): Promise<Blob> {
  const url = new URL(path, document.baseURI);
  const response = await fetch(url).catch(() => null);
  if (response?.ok) return response.blob();
  const why = response ? `the server answered ${response.status}` : "there is no connection";
  throw fault(
    "io",
    `${path} could not be fetched: ${why}`,
    response
      ? "Start the page with npm start in a checkout of Sconce, which has the models of the samples."
      : "Check that the page is still served, and try again.",
  );
}
