// Recording what the program does here: its times, or all of its values.
import type { StepId } from "../looks.js";
import type { InspectorFiles, Value } from "@sconce/types/index.js";
import { usesRecordInputs } from "../derived.js";
import { app, setStep } from "../state.js";
import { plural } from "../ui/format.js";
import { ask } from "./arrays.js";
import { engine } from "./engine.js";
import { recordOn } from "./etrecord.js";
import { handles, loadedProgram } from "./handles.js";
import { fault, note } from "./problems.js";
import { addProfile, nextProfile } from "./profiles.js";
import { fillingsOf } from "./run.js";
import { stopTalk } from "./talking.js";
import { runTask, type Task } from "./task.js";

export async function dumpFiles(
  etdump: Blob,
  values: Blob | undefined,
  inputs?: readonly Value[],
): Promise<InspectorFiles> {
  const etrecord = await recordOn(inputs);
  return {
    etdump,
    ...(etrecord ? { etrecord } : {}),
    ...(values && values.size > 0 ? { debugBuffer: values } : {}),
  };
}

/** Runs that a profile is made of: of quick methods more, for what clocks are too coarse for. */
const RUNS = { least: 10, most: 100, ms: 50 };

const dumped = (bytes: Uint8Array): Blob => new Blob([bytes as BlobPart]);

async function record(
  task: Task,
  name: string,
  isWithValues: boolean,
): Promise<{ files: InspectorFiles; runs: number }> {
  const fillings = fillingsOf(name);
  if (!fillings) throw fault("input", "the inputs cannot be made", "Look at the fields of Call.");
  const values = await ask("make", [fillings], task.signal);
  // Values are only all there where loading has merged nothing.
  const program = isWithValues ? await unmerged() : await loadedProgram();
  const events = isWithValues ? "intermediates" : true;
  try {
    const begin = performance.now();
    const isEnough = (runs: number): boolean =>
      isWithValues || (runs >= RUNS.least && performance.now() - begin > RUNS.ms);
    let runs = 0;
    do {
      await program.run(name, values, { ...task.options(), events });
      runs++;
    } while (runs < RUNS.most && !isEnough(runs) && task.isCurrent());
    const dump = await program.etdump();
    // A record knows the expected results for its own inputs.
    const inputs = isWithValues && !usesRecordInputs(name) ? values : undefined;
    const made = await dumpFiles(dumped(dump.etdump), dumped(dump.debugBuffer), inputs);
    return { files: made, runs };
  } finally {
    if (isWithValues) void program.dispose();
  }
}

async function unmerged(): ReturnType<typeof loadedProgram> {
  const { pte, data } = handles;
  if (!pte) throw fault("state", "there is no program to run yet", "Lower a model first.");
  const dataFiles = data.map(({ blob }) => blob);
  return (await engine()).load(pte, { dataFiles, optimize: false });
}

/** The step that a task goes on in afterwards. */
const RUN: StepId = "run";

async function recorded(what: string, isWithValues: boolean): Promise<void> {
  const name = app.method.value;
  // Both would write the same state.
  stopTalk();
  await runTask(async (task) => {
    task.at(RUN, what);
    const { files: made, runs } = await record(task, name, isWithValues);
    if (!task.isCurrent()) return;
    const kind = isWithValues ? "values" : plural(runs, "run");
    const profile = await addProfile(`${name}, ${kind} (${nextProfile()})`, made);
    setStep(RUN, { status: "done" });
    note(`recorded ${kind} of ${name}`);
    if (isWithValues && !profile.canCompare)
      throw fault(
        "state",
        "there is no record to compare the values with",
        "Drop the .etrecord that was made together with the program.",
      );
  });
}

/** Runs the method several times and shows where the time went. */
export const profileHere = (): Promise<void> => recorded(`Profiling ${app.method.value}`, false);

/** Runs the method once, keeps all values, and shows how far they are from the reference. */
export const compareHere = (): Promise<void> =>
  recorded(`Comparing ${app.method.value} with its record`, true);
