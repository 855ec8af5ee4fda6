// The quantized program compared with the float one: the same files, lowered the same way without
// quantizing, both run here on the same inputs. The samples do with both what they do.
import { chosenFor } from "@sconce/call/options.js";
import type { Program, Remote, Value } from "@sconce/types/index.js";
import { toFaces } from "../../../examples/faces.mjs";
import { app, setStep, type Compared, type Sighting, type Speed, type Telling } from "../state.js";
import { ask } from "./arrays.js";
import { engine, isCancelled } from "./engine.js";
import { shownInput } from "./face.js";
import { handles, loadedProgram, loadFiles, using, type Files } from "./handles.js";
import { edgeOf, filesOf, programsOf } from "./lower.js";
import { fault, sentenceOf } from "./problems.js";
import { fillingsOf } from "./run.js";
import { openModel } from "./talk.js";
import { stopTalk } from "./talking.js";
import { runTask, type Task } from "./task.js";

interface Both {
  float: Remote<Program>;
  quantized: Remote<Program>;
}

const EMPTY: Compared = {
  floatBytes: 0,
  quantizedBytes: 0,
  speeds: [],
  stories: null,
  sightings: null,
  fault: "",
};

function set(edit: Partial<Compared>): void {
  app.compared.value = { ...(app.compared.value ?? EMPTY), ...edit };
}

const bytesOf = ({ pte, data }: Files): number =>
  data.reduce((sum, { blob }) => sum + blob.size, pte.size);

// --- The float program -------------------------------------------------------------------------------

/** The programs as they were opened; opened again when the worker was ended in between. */
async function openedAgain(task: Task): Promise<NonNullable<typeof handles.programs>> {
  const { document } = handles.quantized!;
  return (handles.programs ??= await (await engine()).open(programsOf(document), task.options()));
}

async function lowerFloat(task: Task): Promise<Files> {
  const { document } = handles.quantized!;
  const config = chosenFor("toExecutorch", document.settings.options);
  const edge = await edgeOf(task, document, await openedAgain(task), false);
  return using(edge, async () => {
    const lowered = await edge.toExecutorch({ ...config, ...task.options() });
    return using(lowered, () => filesOf(task, lowered));
  });
}

async function loadBoth(task: Task): Promise<Both> {
  const of = handles.quantized;
  const files = handles.float ?? (await lowerFloat(task));
  const float = handles.floatProgram ?? (await loadFiles(files));
  if (!task.isCurrent() || handles.quantized !== of) {
    if (float !== handles.floatProgram) void float.dispose();
    throw fault("cancelled", "another model was opened", "Start again when ready.");
  }
  Object.assign(handles, { float: files, floatProgram: float });
  const { pte, data } = handles;
  set({ floatBytes: bytesOf(files), quantizedBytes: bytesOf({ pte: pte!, data }) });
  return { float, quantized: await loadedProgram() };
}

// --- How fast they are ---------------------------------------------------------------------------------

/** Runs of each: of quick methods more, for what clocks are too coarse for. */
const ROUNDS = { least: 3, most: 50, ms: 600 };

async function inputsFor(task: Task, method: string): Promise<[Speed["on"], readonly Value[]]> {
  const { document, examples } = handles.quantized!;
  const example = examples.get(method);
  const { calibration } = document.settings.quantizing;
  const isOwn = calibration.some((item) => item.method === method || item.calls[method]);
  if (example) return [isOwn ? "calibration" : "example", example];
  const fillings = fillingsOf(method);
  if (!fillings) throw fault("input", "the inputs cannot be made", "Look at the fields of Call.");
  return ["random", await ask("make", [fillings], task.signal)];
}

async function speedOf(task: Task, both: Both, method: string): Promise<Speed> {
  const [on, inputs] = await inputsFor(task, method);
  const timed = async (program: Remote<Program>): Promise<number> => {
    const begin = performance.now();
    await program.run(method, inputs, task.options());
    return performance.now() - begin;
  };
  // The first run of each finds nothing warm.
  await timed(both.float);
  await timed(both.quantized);
  const float: number[] = [];
  const quantized: number[] = [];
  const begin = performance.now();
  const isEnough = (): boolean =>
    float.length >= ROUNDS.least && performance.now() - begin > ROUNDS.ms;
  while (float.length < ROUNDS.most && !isEnough() && task.isCurrent()) {
    float.push(await timed(both.float));
    quantized.push(await timed(both.quantized));
  }
  return { method, on, float, quantized };
}

async function compareSpeeds(task: Task, both: Both): Promise<void> {
  const methods = Object.keys(app.quantization.value!.report.methods);
  const speeds: Speed[] = [];
  for (const method of methods) {
    task.at("run", `Timing ${method} of both programs`);
    speeds.push(await speedOf(task, both, method));
    if (!task.isCurrent()) return;
    set({ speeds: [...speeds] });
  }
  // Runs may have written state.
  await both.float.reset();
  await both.quantized.reset();
}

// --- Samples in both programs --------------------------------------------------------------------------

async function sighting(task: Task, program: Remote<Program>, input: Value): Promise<Sighting> {
  const begin = performance.now();
  const outputs = await program.run("forward", [input], task.options());
  const ms = performance.now() - begin;
  const [scores, boxes] = outputs as unknown as { data: Float32Array }[];
  return { found: toFaces(scores!.data, boxes!.data), ms };
}

async function compareFaces(task: Task, both: Both): Promise<void> {
  task.at("run", "Looking for faces with both programs");
  const input = await shownInput();
  const { url, width, height } = app.faces.value;
  const float = await sighting(task, both.float, input);
  const quantized = await sighting(task, both.quantized, input);
  if (!task.isCurrent()) return;
  set({ sightings: { url, width, height, float, quantized } });
  app.faces.value = { ...app.faces.value, ...quantized };
}

/** The likeliest text after the beginning. */
async function telling(task: Task, program: Remote<Program>, prompt: string): Promise<Telling> {
  const lm = await openModel(program, handles.quantized!.document.tokenizer!);
  const tokens: number[] = [];
  let text = prompt;
  const begin = performance.now();
  for await (const piece of lm.generate(prompt, { signal: task.signal })) {
    text += piece.text;
    tokens.push(...piece.tokens);
  }
  return { text, tokens, ms: performance.now() - begin };
}

async function compareStories(task: Task, both: Both): Promise<void> {
  task.at("run", "Telling the story with both programs");
  const prompt = app.talk.value.draft.trim();
  const float = await telling(task, both.float, prompt);
  const quantized = await telling(task, both.quantized, prompt);
  if (task.isCurrent()) set({ stories: { float, quantized } });
}

async function compareSample(task: Task, both: Both): Promise<void> {
  const { sample } = handles.quantized!.document;
  if (sample === "face") await compareFaces(task, both);
  if (sample === "story") await compareStories(task, both);
}

// --- All of it -----------------------------------------------------------------------------------------

async function compared(work: (task: Task, both: Both) => Promise<void>): Promise<void> {
  if (!handles.quantized) return;
  stopTalk();
  await runTask(async (task) => {
    task.at("run", "Lowering the float program to compare with");
    try {
      set({ fault: "" });
      await work(task, await loadBoth(task));
      if (task.isCurrent()) setStep("run", { status: "done" });
    } catch (error) {
      if (!isCancelled(error) && task.isCurrent()) set({ fault: sentenceOf(error) });
      throw error;
    }
  });
}

/** Both programs: their sizes, their times, and what the sample does with them. */
export const compareBoth = (): Promise<void> =>
  compared(async (task, both) => {
    await compareSample(task, both);
    if (task.isCurrent()) await compareSpeeds(task, both);
  });

/** The picture that is shown, or the story from how it begins now, once more with both. */
export const compareAgain = (): Promise<void> => compared(compareSample);
