// The calls that a bundled program comes with: run, compared with what they should return, and taken
// over into the fields of Call.
import type { Program, Remote } from "@sconce/types/index.js";
import { app, setStep, type Cases } from "../state.js";
import { loadedProgram } from "./handles.js";
import { fault, note, report } from "./problems.js";
import { setInput } from "./run.js";
import { stopTalk } from "./talking.js";
import { runTask } from "./task.js";

function change(edit: Partial<Cases>): void {
  app.cases.value = { ...app.cases.value, ...edit };
}

/** Takes the cases of a program that was loaded, and shows them where there are any. */
export async function takeCases(program: Remote<Program>, isCurrent: () => boolean): Promise<void> {
  const suites = await program.testSuites();
  if (!isCurrent() || suites.length === 0) return;
  const list = suites.flatMap(({ methodName: method, testCases }) =>
    testCases.map(({ inputs, expectedOutputs }, testCase) => ({
      method,
      testCase,
      inputs: inputs.length,
      expected: expectedOutputs?.length ?? 0,
    })),
  );
  change({ list });
  app.step.value = "run";
  app.views.value = { ...app.views.value, run: "cases" };
}

export function setTolerance(edit: Partial<Pick<Cases, "rtol" | "atol">>): void {
  change(edit);
}

function tolerance(name: string, text: string): number {
  const value = Number(text);
  if (text.trim() !== "" && Number.isFinite(value) && value >= 0) return value;
  throw fault("input", `${name} is no number from 0 on: "${text}"`, "Type one such as 1e-5.");
}

/** Runs all cases, each from the program's first state, and compares. */
export async function verifyCases(): Promise<void> {
  // Both would write the same state.
  stopTalk();
  await runTask(async (task) => {
    task.at("run", "Running the cases");
    const { rtol, atol } = app.cases.value;
    const limits = { rtol: tolerance("rtol", rtol), atol: tolerance("atol", atol) };
    const program = await loadedProgram();
    const verdicts = await program.verify({ ...task.options(), ...limits });
    if (!task.isCurrent()) return;
    change({ verdicts });
    setStep("run", { status: "done" });
    note(`ran ${verdicts.length} cases`);
  });
}

/** Puts the inputs of a case into the fields of Call. */
export async function takeCase(method: string, testCase: number): Promise<void> {
  try {
    const suites = await (await loadedProgram()).testSuites();
    const found = suites.find(({ methodName }) => methodName === method)?.testCases[testCase];
    found?.inputs.forEach((value, i) => {
      if (value !== null && typeof value === "object")
        setInput(method, i, { filler: "file", fileName: `case ${testCase}`, tensor: value });
      else setInput(method, i, { filler: "value", text: String(value) });
    });
    app.method.value = method;
    app.views.value = { ...app.views.value, run: "call" };
  } catch (error) {
    report(error, "run");
  }
}
