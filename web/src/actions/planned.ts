// The memory plans of the program's file: fetched once they are shown.
import { effect } from "@preact/signals";
import { view } from "../derived.js";
import { app } from "../state.js";
import { engine, isCancelled } from "./engine.js";
import { recordFile } from "./etrecord.js";
import { handles, using } from "./handles.js";
import { sentenceOf } from "./problems.js";

async function fetchPlans(program: Blob): Promise<void> {
  const isSame = (): boolean => handles.pte === program;
  try {
    // Names need no weights.
    const etrecord = await recordFile({ light: true });
    const files = etrecord ? { program, etrecord } : { program };
    const plans = await using(await (await engine()).inspector(files), async (inspector) => ({
      plans: await inspector.memory(),
      warnings: (await inspector.report()).warnings,
      fault: "",
    }));
    if (isSame()) app.filePlans.value = plans;
  } catch (error) {
    if (isSame() && !isCancelled(error))
      app.filePlans.value = { plans: [], warnings: [], fault: sentenceOf(error) };
  }
}

export function watchPlans(): void {
  let asked: Blob | null = null;
  effect(() => {
    const isShown = app.step.value === "program" && view.value === "planned";
    const { value: program } = app.program;
    const { pte } = handles;
    // A task that is under way comes first.
    if (!isShown || !program || !pte || app.busy.value || app.filePlans.value) return;
    if (asked === pte) return;
    asked = pte;
    void fetchPlans(pte).finally(() => (asked = null));
  });
}

/** Selects a value of the plan by its number; null selects none. */
export function selectPlanned(value: number | null): void {
  app.planned.value = value;
}
