// The bundled models as documents: which files, and how they are lowered.
import type { Document, MethodFile, SampleId, Settings } from "../state.js";
import { fetchModel } from "./files.js";

/** Most tokens that the cache of the bundled story model holds. */
export const STORY_TOKENS = 256;

interface Sample {
  title: string;
  /** Methods and their files; a file on its own keeps the method names in it. */
  files: readonly (readonly [method: string, fileName: string])[];
  settings: Partial<Settings>;
}

const SAMPLES: Record<SampleId, Sample> = {
  story: {
    title: "stories260k",
    files: [
      ["prefill", "stories260k.prefill.pt2"],
      ["decode", "stories260k.decode.pt2"],
    ],
    settings: { shareState: true, constants: `get_max_seq_len = ${STORY_TOKENS}` },
  },
  face: { title: "face-rfb320", files: [["", "face-rfb320.pt2"]], settings: {} },
  mlp: { title: "mlp", files: [["", "mlp.pt2"]], settings: {} },
};

export function isSample(id: string): id is SampleId {
  return Object.hasOwn(SAMPLES, id);
}

export function defaultSettings(): Settings {
  return { shareState: false, externalConstants: false, memoryPlanning: "best", constants: "" };
}

/** A sample as a document whose files are still to be fetched. */
export function sampleDocument(id: SampleId): Document {
  const { title, settings } = SAMPLES[id];
  return {
    title,
    kind: "pt2",
    files: [],
    sample: id,
    settings: { ...defaultSettings(), ...settings },
    isEdited: false,
  };
}

export function fetchSample(id: SampleId): Promise<MethodFile[]> {
  const fetchOne = async ([method, fileName]: readonly [string, string]): Promise<MethodFile> => ({
    method,
    fileName,
    file: await fetchModel(fileName),
  });
  return Promise.all(SAMPLES[id].files.map(fetchOne));
}
