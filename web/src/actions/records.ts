// Records that come as files: what a run did (.etdp), what was lowered (.etrecord), and the values of
// a run (.bin). Each finds what it belongs to.
import { SconceError } from "@sconce/base/errors.js";
import type { ErrorCode } from "@sconce/types/index.js";
import { app } from "../state.js";
import { isCancelled } from "./engine.js";
import { takeRecord } from "./etrecord.js";
import { fault } from "./problems.js";
import { addProfile, profileAgain } from "./profiles.js";
import { dumpFiles } from "./recording.js";

export interface RecordFiles {
  etrecord: readonly File[];
  etdp: readonly File[];
  /** Values that dumps refer to. */
  values: readonly File[];
}

/** The values of a dump: those of its name, or the only ones there are. */
function valuesOf(dump: File, { etdp, values }: RecordFiles): File | undefined {
  const stem = (file: File): string => file.name.replace(/(\.debug)?\.\w+$/, "");
  const own = values.find((file) => stem(file) === stem(dump));
  return own ?? (etdp.length === 1 && values.length === 1 ? values[0] : undefined);
}

const left = (file: File, why: string, hint: string, code: ErrorCode = "input"): Error =>
  fault(code, `${file.name} was left out: ${why}`, hint);

/** What came of files: those that found no use, and those that cannot be read. */
interface Taken {
  left: Error[];
  broken: Error[];
}

/** Does something with a file; one that cannot be read is named, and does not stop the others. */
async function tryFile(file: File, taken: Taken, use: () => Promise<void>): Promise<void> {
  try {
    await use();
  } catch (error) {
    if (!(error instanceof SconceError) || isCancelled(error)) throw error;
    const { code, message, hint } = error;
    taken.broken.push(fault(code, `${file.name} cannot be opened: ${message}`, hint));
  }
}

async function takeDumps(given: RecordFiles, used: Set<File>, taken: Taken): Promise<void> {
  for (const dump of given.etdp) {
    const values = valuesOf(dump, given);
    if (values) used.add(values);
    await tryFile(dump, taken, async () => {
      await addProfile(dump.name, await dumpFiles(dump, values));
    });
  }
}

/** Values that came without a dump are those of the latest one, if it lacks them. */
async function takeValues(given: RecordFiles, used: Set<File>, taken: Taken): Promise<void> {
  for (const values of given.values.filter((file) => !used.has(file))) {
    if (given.etdp.length === 0 && app.profiles.value.length > 0)
      await tryFile(values, taken, async () => void (await profileAgain({ debugBuffer: values })));
    else taken.left.push(left(values, "no dump refers to it", "Drop it together with its .etdp."));
  }
}

async function takeFirstRecord(given: RecordFiles, taken: Taken): Promise<void> {
  const [record, ...others] = given.etrecord;
  for (const extra of others)
    taken.left.push(left(extra, "a program has one record", "Open it on its own."));
  if (!record) return;
  await tryFile(record, taken, async () => {
    taken.left.push(...(await takeRecord(record, given.etdp.length === 0)));
    // Dumps that were there before it came.
    if (given.etdp.length === 0) await profileAgain({ etrecord: record });
  });
}

/** What is open is not called after a dump that could not be read. */
function nameAfterDumps(): void {
  const { value: document } = app.document;
  const titles = app.profiles.value.map(({ title }) => title);
  if (document?.kind !== "record" || titles.length === 0) return;
  if (titles.includes(document.title) || document.title === app.recordName.value) return;
  app.document.value = { ...document, title: titles[0]! };
}

/** Takes what was dropped. */
export async function takeRecords(given: RecordFiles): Promise<Taken> {
  const taken: Taken = { left: [], broken: [] };
  const used = new Set<File>();
  await takeFirstRecord(given, taken);
  await takeDumps(given, used, taken);
  await takeValues(given, used, taken);
  nameAfterDumps();
  if (app.profiles.value.length > 0) {
    app.step.value = "run";
    app.views.value = { ...app.views.value, run: "profile" };
  } else if (app.document.value?.kind === "record") {
    app.step.value = app.steps.value.edge.status === "done" ? "edge" : "source";
    app.views.value = { ...app.views.value, [app.step.value]: "graph" };
  }
  return taken;
}
