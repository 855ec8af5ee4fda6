// One task at a time: opening or lowering something ends what was under way before. Cancelling gives
// the page back at once, and the worker shortly after: by itself, or ended.
import { PHASES } from "@sconce/border/steps.gen.js";
import type { CallOptions } from "@sconce/types/index.js";
import { app, setStep, STEPS, type StepId } from "../state.js";
import { forgetIfBroken, freeEngine, isCancelled } from "./engine.js";
import { note, report } from "./problems.js";

let running: AbortController | undefined;
/** Until the worker is free of what was cancelled. */
let freeing: Promise<void> = Promise.resolve();

/** Resolves once the worker can take calls again. */
export function freed(): Promise<void> {
  return freeing;
}

export interface Task {
  /** Aborts with the task. */
  signal: AbortSignal;
  /** For calls of the engine: cancels with the task, and shows progress. */
  options(): CallOptions;
  /** Says what is going on now, and which step is running. */
  at(step: StepId, what: string): void;
  /** False once another task or a cancel took over. */
  isCurrent(): boolean;
}

/**
 * Runs a task; its error becomes a card at the step where it failed. A task that was under way before
 * is cancelled.
 */
export async function runTask(body: (task: Task) => Promise<void>): Promise<void> {
  cancel("");
  const controller = new AbortController();
  running = controller;
  let current: StepId = "source";
  const isCurrent = (): boolean => running === controller;
  const task: Task = {
    signal: controller.signal,
    isCurrent,
    at(step, what) {
      // What was cancelled may not have heard of it yet.
      if (!isCurrent()) return;
      current = step;
      setStep(step, { status: "running" });
      app.busy.value = { what, phase: "", done: 0, total: 0 };
    },
    options: () => ({
      signal: controller.signal,
      onProgress: ({ phase, done, total }) => {
        if (!isCurrent() || !app.busy.value) return;
        app.busy.value = { ...app.busy.value, phase: PHASES[phase], done, total };
      },
    }),
  };
  try {
    await freeing;
    if (isCurrent()) await body(task);
  } catch (error) {
    forgetIfBroken(error);
    if (isCurrent() && !isCancelled(error)) {
      setStep(current, { status: "failed" });
      report(error, current);
    }
  } finally {
    if (isCurrent()) {
      running = undefined;
      app.busy.value = null;
    }
  }
}

/** Stops the task under way. */
export function cancel(message = "cancelled"): void {
  const controller = running;
  if (!controller) return;
  running = undefined;
  app.busy.value = null;
  controller.abort();
  for (const id of STEPS) {
    if (app.steps.value[id].status !== "running") continue;
    // A program that was running is still there to be run.
    setStep(id, { status: id === "run" && app.program.value ? "done" : "idle" });
  }
  freeing = freeEngine();
  if (message) note(message);
}
