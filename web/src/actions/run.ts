// The Run form: values made from what a method declares, runs with their times, results to look at.
import { readNpy, writeNpy } from "@sconce/cli/npy.js";
import { fill, makeTensor } from "@sconce/fill.js";
import type { ProgramMethodInfo, ProgramValueInfo, Value } from "@sconce/types.js";
import { app, setStep, type InputForm, type RunState } from "../state.js";
import { viewOf } from "../ui/numbers.js";
import { download } from "./files.js";
import { loadedProgram } from "./handles.js";
import { runJob } from "./job.js";
import { fault, report } from "./problems.js";

function makeForm(info: ProgramValueInfo, index: number): InputForm {
  const isTensor = info.kind === "tensor";
  return {
    filler: isTensor ? "random" : "value",
    seed: index,
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

function parseNumbers(text: string): number[] {
  const numbers = text
    .split(/[\s,;[\]]+/)
    .filter(Boolean)
    .map(Number);
  if (numbers.some(Number.isNaN))
    throw fault(
      "input",
      "these are not all numbers",
      "Write numbers with commas or spaces between them.",
    );
  return numbers;
}

function shapeOf(info: ProgramValueInfo, form: InputForm): number[] {
  const bound = info.shape ?? [];
  if (!info.dynamic) return [...bound];
  const sizes = parseNumbers(form.shape);
  if (sizes.length === bound.length && sizes.every((n) => Number.isInteger(n) && n >= 0))
    return sizes;
  throw fault(
    "input",
    `[${form.shape}] does not have the ${bound.length} sizes it needs`,
    `Write ${bound.length} whole numbers, at most [${bound.join(", ")}].`,
  );
}

function scalarOf(info: ProgramValueInfo, text: string): Value {
  const word = text.trim();
  if (info.kind === "none") return null;
  if (info.kind === "string") return text;
  if (info.kind === "bool") return word === "true" || word === "1";
  if (info.kind === "int" && /^[-+]?\d+$/.test(word)) return BigInt(word);
  if (info.kind === "double" && word !== "" && !Number.isNaN(Number(word))) return Number(word);
  throw fault(
    "input",
    `'${word}' is not ${info.kind === "int" ? "a whole number" : "a number"}`,
    "Write a number.",
  );
}

function numbersOf(info: ProgramValueInfo, form: InputForm): Value {
  const shape = shapeOf(info, form);
  const count = shape.reduce((product, size) => product * size, 1);
  const numbers = parseNumbers(form.text);
  if (numbers.length !== 1 && numbers.length !== count) {
    throw fault(
      "input",
      `[${shape.join(", ")}] takes ${count} numbers, not ${numbers.length}`,
      `Write ${count} numbers, or a single one for all.`,
    );
  }
  if (!info.dtype!.includes("float") && !numbers.every(Number.isInteger)) {
    throw fault("input", `${info.dtype} holds whole numbers only`, "Leave out the fractions.");
  }
  return makeTensor(info, shape, (i) => numbers[numbers.length === 1 ? 0 : i]!);
}

function valueOf(info: ProgramValueInfo, form: InputForm, index: number): Value {
  if (info.kind !== "tensor") return scalarOf(info, form.text);
  if (form.filler === "numbers") return numbersOf(info, form);
  if (form.filler !== "file") {
    return fill(
      form.filler === "random" ? `random:${form.seed}` : form.filler,
      info,
      index,
      shapeOf(info, form),
    );
  }
  if (form.tensor) return form.tensor;
  throw fault("input", `input ${index} has no file yet`, "Choose an .npy file.");
}

/** One value per input; what cannot be made is said at its field. */
function valuesOf(method: ProgramMethodInfo, state: RunState): Value[] | null {
  let isComplete = true;
  const values = method.inputs.map((info, i) => {
    try {
      return valueOf(info, state.inputs[i]!, i);
    } catch (error) {
      isComplete = false;
      const { message, hint } = error as { message: string; hint?: string };
      setInput(method.name, i, { error: `${message}. ${hint ?? ""}`.trim() });
      return null;
    }
  });
  return isComplete ? values : null;
}

export async function runMethod(name: string): Promise<void> {
  const method = app.program.value?.methods.find((m) => m.name === name);
  const state = app.runs.value[name];
  if (!method || !state) return;
  const values = valuesOf(method, state);
  if (!values) return;
  await runJob(async (job) => {
    job.at("run", `Running ${name}`);
    const program = await loadedProgram();
    const times: number[] = [];
    let outputs: Value[] = [];
    for (let i = 0; i < state.repeat && job.isCurrent(); i++) {
      const begin = performance.now();
      outputs = await program.run(name, values, job.options());
      times.push(performance.now() - begin);
    }
    if (!job.isCurrent()) return;
    change(name, (now) => ({ ...now, outputs: outputs.map(viewOf), times }));
    setStep("run", { status: "done", ms: times.at(-1)! });
  });
}

export async function resetState(): Promise<void> {
  try {
    await (await loadedProgram()).reset();
  } catch (error) {
    report(error, "run");
  }
}

/** Arrays for the inputs of the current method, in order. */
export async function takeArrays(files: readonly File[], at = 0): Promise<void> {
  const method = app.program.value?.methods.find((m) => m.name === app.method.value);
  if (!method)
    throw fault(
      "input",
      `${files[0]!.name} needs a program`,
      "Open a model first, then drop the array.",
    );
  app.step.value = "run";
  for (const [i, file] of files.entries()) {
    const info = method.inputs[at + i];
    if (!info)
      throw fault(
        "input",
        `method '${method.name}' takes ${method.inputs.length} inputs`,
        "Drop fewer files.",
      );
    try {
      const tensor = readNpy(new Uint8Array(await file.arrayBuffer()), file.name, info.dtype);
      setInput(method.name, at + i, { filler: "file", tensor, fileName: file.name });
    } catch (error) {
      setInput(method.name, at + i, { filler: "file", error: (error as Error).message });
    }
  }
}

export function saveOutput(method: string, index: number): void {
  const tensor = app.runs.value[method]?.outputs[index]?.tensor;
  try {
    if (tensor) download(new Blob([writeNpy(tensor) as BlobPart]), `${method}.output_${index}.npy`);
  } catch (error) {
    report(error, "run");
  }
}
