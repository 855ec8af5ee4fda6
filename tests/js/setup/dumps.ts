// The dumps and records of tests/data/etdump, and what the official Inspector says of them.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { InspectorFiles } from "sconce";

export const dumpPath = (name: string): string =>
  fileURLToPath(new URL(`../../../../tests/data/etdump/${name}`, import.meta.url));

/** A profile, or with `debug` a run whose values were logged. */
export function filesOf(name: string, kind: "profile" | "debug" = "profile"): InspectorFiles {
  const etrecord = { path: dumpPath(`${name}.etrecord`) };
  return kind === "profile"
    ? { etdump: { path: dumpPath(`${name}.etdp`) }, etrecord }
    : {
        etdump: { path: dumpPath(`${name}.debug.etdp`) },
        debugBuffer: { path: dumpPath(`${name}.debug.bin`) },
        etrecord,
      };
}

export interface ReportedEvent {
  block: string;
  name: string;
  raw: number[];
  p10: number;
  p50: number;
  p90: number;
  avg: number;
  min: number;
  max: number;
  ops: string[];
  id: string | null;
  backend: string | null;
  /** Names with an underscore behind each. */
  nodes: string[];
}
export interface ReportedGap {
  aot: number[];
  runtime: number[];
  runtimeOps: string[];
  gap: (number | string)[];
}
export interface Reported {
  events: ReportedEvent[];
  /** By graph and metric. */
  gap: Record<string, Record<"SNR" | "MSE" | "L1", ReportedGap[]>>;
}

export const reportedOf = (name: string): Reported =>
  JSON.parse(readFileSync(dumpPath(`${name}.told.json`), "utf8")) as Reported;
