// The Run form: what was typed, calls with their times, results to look at.
import { writeNpy } from "@sconce/cli/files/npy.js";
import type { ProgramMethodInfo, ProgramValueInfo, Value } from "@sconce/types/index.js";
import type { Filling } from "../arrays.worker.js";
import { recordInputsFor } from "../derived.js";
import { app, setStep, type InputForm, type RunState } from "../state.js";
import { ask } from "./arrays.js";
import { download } from "./files.js";
import { loadedProgram } from "./handles.js";
import { runTask } from "./task.js";
import { fault, report, sentenceOf } from "./problems.js";
import { stopTalk } from "./talking.js";
import { fillingOf } from "./values.js";

function makeForm(info: ProgramValueInfo, index: number): InputForm {
  const isTensor = info.kind === "tensor";
  return {
    filler: isTensor ? "random" : "value",
    seed: String(index),
    shape: (info.shape ?? []).join(", "),
    text: isTensor ? "" : String(info.value ?? ""),
    tensor: null,
    fileName: "",
    error: "",
  };
}

export function makeForms(method: ProgramMethodInfo): RunState {
  return { inputs: method.inputs.map(makeForm), outputs: [], times: [], repeat: 1 };
}

function change(method: string, edit: (state: RunState) => RunState): void {
  const state = app.runs.value[method];
  if (state) app.runs.value = { ...app.runs.value, [method]: edit(state) };
}

export function setInput(method: string, index: number, edit: Partial<InputForm>): void {
  change(method, (state) => ({
    ...state,
    inputs: state.inputs.map((form, i) => (i === index ? { ...form, error: "", ...edit } : form)),
  }));
}

export function setRepeat(method: string, repeat: number): void {
  change(method, (state) => ({ ...state, repeat }));
}

/** How the inputs of a method are made; null where a field does not say. */
export function fillingsOf(name: string): Filling[] | null {
  const method = app.program.value?.methods.find((m) => m.name === name);
  const state = app.runs.value[name];
  return method && state ? fillings(method, state) : null;
}

function recorded({ name }: ProgramMethodInfo, index: number): Filling {
  const view = recordInputsFor(name)?.[index]?.view;
  if (view?.kind === "tensor") return { kind: "given", value: view.tensor };
  throw fault(
    "input",
    `the record has no input ${index} for method '${name}'`,
    "Choose another way to make it.",
  );
}

/** One filling per input; what cannot be made is said at its field. */
function fillings(method: ProgramMethodInfo, state: RunState): Filling[] | null {
  const made: Filling[] = [];
  for (const [i, info] of method.inputs.entries()) {
    try {
      const form = state.inputs[i]!;
      made.push(form.filler === "record" ? recorded(method, i) : fillingOf(info, form, i));
    } catch (error) {
      setInput(method.name, i, { error: sentenceOf(error) });
    }
  }
  return made.length === method.inputs.length ? made : null;
}

export async function runMethod(name: string): Promise<void> {
  const state = app.runs.value[name];
  const inputs = fillingsOf(name);
  if (!state || !inputs) return;
  // Both would write the same state.
  stopTalk();
  await runTask(async (task) => {
    task.at("run", `Running ${name}`);
    const { signal } = task;
    const values = await ask("make", [inputs], signal);
    const program = await loadedProgram();
    const times: number[] = [];
    let outputs: Value[] = [];
    for (let i = 0; i < state.repeat && task.isCurrent(); i++) {
      const begin = performance.now();
      outputs = await program.run(name, values, task.options());
      times.push(performance.now() - begin);
    }
    const views = await ask("look", [outputs], signal);
    if (!task.isCurrent()) return;
    change(name, (now) => ({ ...now, outputs: views, times }));
    setStep("run", { status: "done", ms: times.at(-1)!, note: "latest call" });
  });
}

export async function resetState(): Promise<void> {
  stopTalk();
  try {
    await (await loadedProgram()).reset();
  } catch (error) {
    report(error, "run");
  }
}

async function takeArray(method: ProgramMethodInfo, index: number, file: File): Promise<void> {
  const edit: Partial<InputForm> = { filler: "file", fileName: file.name };
  try {
    const tensor = await ask("read", [file, file.name, method.inputs[index]!.dtype]);
    setInput(method.name, index, { ...edit, tensor });
  } catch (error) {
    setInput(method.name, index, { ...edit, tensor: null, error: sentenceOf(error, file.name) });
  }
}

/**
 * Arrays for the inputs of the current method, from input `at` on. Returns an error for each that
 * found no place.
 */
export async function takeArrays(files: readonly File[], at = 0): Promise<Error[]> {
  const method = app.program.value?.methods.find((m) => m.name === app.method.value);
  if (!method) {
    return files.map((file) =>
      fault(
        "input",
        `${file.name} was left out: no model is open that could take it`,
        "Open a model first, then drop the array.",
      ),
    );
  }
  app.step.value = "run";
  const isTensor = (i: number): boolean => method.inputs[i]?.kind === "tensor";
  await Promise.all(
    files.map((file, i) => (isTensor(at + i) ? takeArray(method, at + i, file) : undefined)),
  );
  return files
    .filter((_, i) => !isTensor(at + i))
    .map((file) =>
      fault(
        "input",
        `${file.name} was left out: method '${method.name}' has no input for it`,
        "Choose the array at the input that it is for.",
      ),
    );
}

export function saveOutput(method: string, index: number): void {
  const view = app.runs.value[method]?.outputs[index];
  if (view?.kind !== "tensor") return;
  try {
    const bytes = writeNpy(view.tensor) as BlobPart;
    download(new Blob([bytes]), `${method}.output_${index}.npy`);
  } catch (error) {
    report(error, "run");
  }
}
