// Archives with compressed entries. The core says which bytes to inflate and to what size, and checks
// what came out; here deflate only runs backwards: at once by node:zlib where the host has it, else
// by DecompressionStream, for which the caller has to wait.
import type { Core } from "./core.js";
import { Job } from "./job.js";
import { messageOf, SconceError } from "../base/errors.js";
import { hostModule } from "../base/host.js";
import { isInflated } from "../source/kinds.js";
import type { InflatedArchive, Source } from "../types/index.js";

interface Packed {
  name: string;
  offset: number;
  stored: number;
  size: number;
}

function corrupt(entry: Packed, why: string): SconceError {
  return new SconceError(
    "corrupt",
    `zip entry ${entry.name} cannot be inflated: ${why}`,
    "Fetch the file again: it is a damaged zip archive.",
  );
}

/** The compressed entries of an archive with their bytes, one at a time; none of other files. */
function* packedEntries(job: Job, source: Source): Generator<[Packed, Uint8Array]> {
  const handle = job.addSource(source, "the programs");
  const kind = job.textOf((raw, s) => raw.detect(s, handle));
  if (kind !== "pt2" && kind !== "etrecord") return;
  const id = job.sources.at(-1)!;
  const list = job.textOf((raw, s) => raw.archive_compressed(s, handle));
  for (const entry of JSON.parse(list) as Packed[])
    yield [entry, job.core.readSource(id, entry.offset, entry.stored)];
}

function room(entry: Packed): Uint8Array {
  try {
    return new Uint8Array(entry.size);
  } catch {
    throw new SconceError(
      "out_of_memory",
      `there is no memory for the ${entry.size} bytes of zip entry ${entry.name}`,
      "Pack the archive again without compression: it is then read in place.",
    );
  }
}

/** The archive with its entries inflated; undefined where only `inflate` can do that. */
export function inflateSync(core: Core, source: Source): InflatedArchive | undefined {
  const zlib = hostModule<typeof import("node:zlib")>("node:zlib");
  if (!zlib) return undefined;
  const job = new Job(core);
  try {
    const entries = Array.from(packedEntries(job, source), ([entry, bytes]) => {
      try {
        const whole = zlib.inflateRawSync(bytes, { maxOutputLength: Math.max(1, entry.size) });
        if (whole.length === entry.size) return whole;
      } catch (error) {
        throw corrupt(entry, messageOf(error));
      }
      throw corrupt(entry, `it does not hold the ${entry.size} bytes that it claims`);
    });
    return { archive: source, entries };
  } finally {
    job.release();
  }
}

async function inflateEntry(entry: Packed, bytes: Uint8Array): Promise<Uint8Array> {
  const whole = room(entry);
  const inflater = new DecompressionStream("deflate-raw");
  const reader = new Blob([bytes as BlobPart]).stream().pipeThrough(inflater).getReader();
  let at = 0;
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      if (part.value.length > whole.length - at) throw new Error("it holds more than it claims");
      whole.set(part.value, at);
      at += part.value.length;
    }
  } catch (error) {
    await reader.cancel().catch(() => undefined);
    throw corrupt(entry, messageOf(error));
  }
  if (at === whole.length) return whole;
  throw corrupt(entry, `it does not hold the ${entry.size} bytes that it claims`);
}

/** The source with its compressed entries inflated; itself where there are none. */
export async function inflate(core: Core, source: Source): Promise<Source> {
  if (isInflated(source)) return source;
  const job = new Job(core);
  try {
    const entries: Uint8Array[] = [];
    for (const [entry, bytes] of packedEntries(job, source))
      entries.push(await inflateEntry(entry, bytes));
    return entries.length > 0 ? { archive: source, entries } : source;
  } finally {
    job.release();
  }
}
