// Calibration data of a quantized program: arrays, one for each input in their order, and for the
// samples pictures and text, which become inputs the way they do when the sample runs.
import { checkValue, userInputs } from "@sconce/recipe/inputs.js";
import type { MethodSummary, Tensor, Value } from "@sconce/types/index.js";
import { int64 } from "../../../examples/stories.mjs";
import { versionOf } from "../derived.js";
import { app, type Calibration, type Quantizing } from "../state.js";
import { formatType, plural } from "../ui/format.js";
import { ask } from "./arrays.js";
import { inputOf, shownInput } from "./face.js";
import { fault, sentenceOf } from "./problems.js";
import { STORY_TOKENS } from "./samples.js";
import { setQuantizing } from "./settings.js";

type Calls = Calibration["calls"];

const EMPTY = { method: "", words: "", array: null, calls: {}, fault: "" } as const;

const methodsNow = (): readonly MethodSummary[] =>
  versionOf(app.report.value, "source")?.methods ?? [];

/** Arrays of a method, in the order in which they are its inputs. */
const arraysOf = (items: readonly Calibration[], method: string): Calibration[] =>
  items.filter((item) => item.array && item.method === method);

/** The input that an array of a method is for. */
function inputFor(
  method: MethodSummary,
  place: number,
): MethodSummary["inputs"][number] | undefined {
  const inputs = userInputs(method);
  return inputs[place % (inputs.length || 1)];
}

// --- Faults ------------------------------------------------------------------------------------------

function arrayFault(item: Calibration, method: MethodSummary, place: number): string {
  const info = inputFor(method, place);
  try {
    if (!info)
      throw fault("input", `method '${method.name}' takes no inputs`, "Choose another method.");
    checkValue(
      `${item.name}, as input '${info.name}' of method '${method.name}',`,
      info,
      item.array,
    );
    return "";
  } catch (error) {
    return sentenceOf(error, item.name);
  }
}

/**
 * Which call and input each array is for; empty where there is one input only, and for what brings
 * its own calls.
 */
export function placesOf(items: readonly Calibration[]): string[] {
  const methods = methodsNow();
  return items.map((item) => {
    const method = methods.find(({ name }) => name === item.method);
    const inputs = method ? userInputs(method).length : 0;
    if (!method || !item.array || (inputs < 2 && methods.length < 2)) return "";
    const place = arraysOf(items, item.method).indexOf(item);
    const call = `call ${Math.floor(place / (inputs || 1)) + 1}`;
    const of = methods.length > 1 ? ` of ${method.name}` : "";
    return `${call}${of}: ${inputFor(method, place)?.name ?? "no input"}`;
  });
}

/** Why each of the items cannot be taken; empty where it can. */
export function faultsOf(items: readonly Calibration[]): string[] {
  const methods = methodsNow();
  return items.map((item) => {
    const method = methods.find(({ name }) => name === item.method);
    if (item.fault || !item.array || !method) return item.fault;
    return arrayFault(item, method, arraysOf(items, item.method).indexOf(item));
  });
}

function checkCount(method: MethodSummary, arrays: readonly Calibration[]): void {
  const inputs = userInputs(method).length;
  if (arrays.length % (inputs || 1) === 0) return;
  throw fault(
    "input",
    `method '${method.name}' takes ${plural(inputs, "input")}, and there ${arrays.length === 1 ? "is" : "are"} ${plural(arrays.length, "array")} for it`,
    `Drop ${inputs} arrays for each call, in the order of the inputs.`,
  );
}

/** Complete calls of a method: arrays, as many at a time as it has inputs, then what else there is. */
function callsFor(method: MethodSummary, items: readonly Calibration[]): (readonly Value[])[] {
  const arrays = arraysOf(items, method.name);
  checkCount(method, arrays);
  const inputs = userInputs(method).length;
  const calls: Value[][] = [];
  for (let at = 0; at < arrays.length; at += inputs)
    calls.push(arrays.slice(at, at + inputs).map(({ array }) => array!));
  return [...calls, ...items.flatMap((item) => item.calls[method.name] ?? [])];
}

/** The calls of each method that has some; throws what is wrong with them. */
export function callsOf({ calibration }: Quantizing): Record<string, (readonly Value[])[]> {
  const wrong = faultsOf(calibration).filter(Boolean).length;
  if (wrong > 0)
    throw fault(
      "input",
      `${wrong} of ${calibration.length} inputs for the calibration cannot be taken`,
      "Remove the marked lines.",
    );
  const calls = methodsNow().map((method) => [method.name, callsFor(method, calibration)] as const);
  return Object.fromEntries(calls.filter(([, list]) => list.length > 0));
}

/** The number of calls of each method, or the reason why there are no calls. */
export function countsOf(quantizing: Quantizing): {
  counts: Record<string, number>;
  fault: string;
} {
  try {
    const calls = Object.entries(callsOf(quantizing));
    return {
      counts: Object.fromEntries(calls.map(([name, list]) => [name, list.length])),
      fault: "",
    };
  } catch (error) {
    return { counts: {}, fault: sentenceOf(error) };
  }
}

// --- Files that arrive -------------------------------------------------------------------------------

async function ofArray(file: File, method: string, place: number): Promise<Calibration> {
  const item = { ...EMPTY, name: file.name, method };
  const info = methodsNow().find(({ name }) => name === method);
  const dtype = info && inputFor(info, place)?.dtype;
  const array: Tensor = await ask("readFinite", [file, file.name, dtype]);
  return {
    ...item,
    array,
    words: formatType({ ...array, kind: "tensor" } as never, app.dtypes.value),
  };
}

const onlyMethod = (): string => methodsNow()[0]?.name ?? "";

async function ofPicture(file: Blob, name: string): Promise<Calibration> {
  if (app.document.value?.sample !== "face")
    throw fault(
      "input",
      `${name} was left out: only the face detector knows how a picture becomes its input`,
      "Save the inputs of your model with numpy.save, and drop the .npy files.",
    );
  const calls = { [onlyMethod()]: [[await inputOf(file, name)]] };
  return { ...EMPTY, name, words: "picture", calls };
}

/** How a story with that text calls the model: all words at once, and one after the other. */
function callsOfTokens(tokens: readonly number[]): Calls {
  const places = tokens.map((_, i) => i);
  return {
    prefill: [[int64([...tokens], [1, tokens.length]), int64(places, [tokens.length])]],
    decode: tokens.map((token, i) => [int64([token], [1, 1]), int64([i], [1])]),
  };
}

async function ofText(text: string): Promise<Calibration> {
  if (app.document.value?.sample !== "story")
    throw fault(
      "input",
      "text was left out: only the story teller knows how words become its input",
      "Save the inputs of your model with numpy.save, and drop the .npy files.",
    );
  const { idsOf, tokenizerOf } = await import("@sconce/llm/tokenizer.js");
  const tokenizer = await tokenizerOf(app.document.value.tokenizer!.tokenizer!, {});
  const tokens = idsOf(tokenizer, text, true);
  if (tokens.length > STORY_TOKENS)
    throw fault(
      "input",
      `this text has ${tokens.length} tokens, and the model holds ${STORY_TOKENS}`,
      "Divide it into shorter lines.",
    );
  if (tokens.length < 2) throw fault("input", "there are no words in it", "Write some.");
  const calls = callsOfTokens(tokens);
  return { ...EMPTY, name: `“${text}”`, words: plural(tokens.length, "token"), calls };
}

const linesOf = (text: string): string[] =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);

/** Adds the result of the work, or the reason for its failure. */
async function add(name: string, work: () => Promise<readonly Calibration[]>): Promise<void> {
  const { value: document } = app.document;
  const made = await work().catch((error: unknown) => [
    { ...EMPTY, name, fault: sentenceOf(error, name) },
  ]);
  const now = app.document.value;
  // Another model may have been opened meanwhile.
  if (!now || !document || now.files !== document.files) return;
  setQuantizing({ calibration: [...now.settings.quantizing.calibration, ...made] });
}

const TEXT_BYTES_MAX = 2 ** 20;

async function ofFile(file: File, method: string, place: number): Promise<readonly Calibration[]> {
  if (/\.npy$/i.test(file.name)) return [await ofArray(file, method, place)];
  if (file.type.startsWith("image/")) return [await ofPicture(file, file.name)];
  const isText = file.type.startsWith("text/") || /\.txt$/i.test(file.name);
  if (!isText || file.size > TEXT_BYTES_MAX)
    throw fault(
      "input",
      `${file.name} was left out: it holds no data to calibrate on`,
      "Drop .npy files of the inputs, one for each, and for the samples pictures or text.",
    );
  return Promise.all(linesOf(await file.text()).map(ofText));
}

/** Arrays for a method, in the order in which they come, and whatever else the model takes. */
export async function calibrateOn(files: readonly File[], method: string): Promise<void> {
  for (const file of files) {
    const { calibration } = app.document.value!.settings.quantizing;
    await add(file.name, () => ofFile(file, method, arraysOf(calibration, method).length));
  }
}

/** Lines of text, each the beginning of a story. */
export async function calibrateOnText(text: string): Promise<void> {
  for (const line of linesOf(text)) await add(`“${line}”`, async () => [await ofText(line)]);
}

/** The picture that is shown; the bundled photo where none is. */
export async function calibrateOnPhoto(): Promise<void> {
  await add("the photo", async () => {
    const calls = { [onlyMethod()]: [[await shownInput()]] };
    const { source } = app.faces.value;
    const name = source === "picture" ? "the picture that is shown" : "the bundled photo";
    return [{ ...EMPTY, name, words: "picture", calls }];
  });
}

export function dropCalibration(index: number): void {
  const { calibration } = app.document.value!.settings.quantizing;
  setQuantizing({ calibration: calibration.filter((_, i) => i !== index) });
}
