// Files out of the page and into it: downloads, and the bundled models in its folder.
import type { Document } from "../state.js";
import { formatBytes } from "../ui/format.js";
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

/** A file in the page's folder, as a Blob: the worker then reads slices of it. */
export async function fetchAsset(path: string): Promise<Blob> {
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

/** Browsers say that they have no room for a Blob only when it is read. */
export async function checkRoom(blob: Blob): Promise<Blob> {
  try {
    await blob.slice(-1).arrayBuffer();
    return blob;
  } catch {
    throw fault(
      "out_of_memory",
      `the browser has no room for the ${formatBytes(blob.size)} of the program`,
      "Free disk space or, in a private window, where such files stay in memory and 2 GB are the " +
        "most, open the page in an ordinary one.",
    );
  }
}

/** Warns of a program that may be too large here. Browsers know the machine's memory roughly, if at all. */
export function memoryFaults(bytes: number): Error[] {
  const { deviceMemory = Infinity } = navigator as { deviceMemory?: number };
  if (bytes < deviceMemory * 2 ** 29) return [];
  return [
    fault(
      "out_of_memory",
      `the program takes about ${formatBytes(bytes)}, and this machine has about ${deviceMemory} GB`,
      "Quantize the model if the page becomes slow, or if the browser closes it.",
    ),
  ];
}

/** The document's name for files. Letters of every language stay; what some file system refuses does not. */
export const stemOf = ({ title }: Document): string =>
  title.replace(/\.(pt2|pte|bpte)$/i, "").replace(/[^\p{L}\p{N}_-]+/gu, "_");
