// The samples: each does the whole thing on one click, from its .pt2 to a result.
import { app, type SampleId } from "../state.js";
import { lowerDocument } from "./lower.js";
import { report } from "./problems.js";
import { runMethod } from "./run.js";
import { sampleDocument } from "./samples.js";

/** The next action of a sample once it is lowered. */
const THEN: Record<SampleId, () => Promise<void>> = {
  story: async () => (await import("./talk.js")).say(),
  face: async () => {
    const { findFaces, showSamplePhoto } = await import("./face.js");
    await showSamplePhoto();
    await findFaces();
  },
  mlp: () => runMethod("forward"),
};

export async function openSample(id: SampleId): Promise<void> {
  app.step.value = "source";
  if (!(await lowerDocument(sampleDocument(id)))) return;
  app.step.value = "run";
  try {
    await THEN[id]();
  } catch (error) {
    report(error, "run");
  }
}
