// The bundled models as documents: which files, and how they are lowered.
import { app, type Document, type MethodFile, type SampleId, type Settings } from "../state.js";
import { fetchAsset } from "./files.js";

/** Most tokens that the cache of the bundled story model holds. */
export const STORY_TOKENS = 256;

interface Sample {
  title: string;
  /** Methods and their files in the page's folder; a file on its own keeps the method names in it. */
  files: readonly (readonly [method: string, path: string])[];
  /** The path of its tokenizer. */
  tokenizer?: string;
  settings: Partial<Settings>;
}

const SAMPLES: Record<SampleId, Sample> = {
  story: {
    title: "stories260k",
    files: [
      ["prefill", "models/stories260k.prefill.pt2"],
      ["decode", "models/stories260k.decode.pt2"],
    ],
    tokenizer: "models/stories260k.tokenizer.bin",
    settings: {
      options: { shareMutableBuffers: true },
      constants: `get_max_seq_len = ${STORY_TOKENS}`,
    },
  },
  face: { title: "face-rfb320", files: [["", "models/face-rfb320.pt2"]], settings: {} },
  mlp: { title: "mlp", files: [["", "samples/mlp.pt2"]], settings: {} },
};

export function isSample(id: string): id is SampleId {
  return Object.hasOwn(SAMPLES, id);
}

export function defaultSettings(): Settings {
  return {
    quantizing: { recipe: "", groupSize: 32, skip: "", compares: true, calibration: [] },
    options: {},
    backends: {},
    verifies: false,
    constants: "",
  };
}

/** The npm package comes without the folder models. */
const inModels = (path: string): boolean => path.startsWith("models/");

/** True if all files of the sample are in the page's folder. */
export function isHere(id: SampleId): boolean {
  return app.hasModels.value || !SAMPLES[id].files.some(([, path]) => inModels(path));
}

/** Asks, once, whether the page has a folder models. */
export async function lookForModels(): Promise<void> {
  const [path] = Object.values(SAMPLES)
    .flatMap(({ files }) => files.map(([, p]) => p))
    .filter(inModels);
  const response = await fetch(new URL(path!, document.baseURI), { method: "HEAD" }).catch(
    () => null,
  );
  app.hasModels.value = response?.ok ?? false;
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

/** The files of a sample, with those of its tokenizer. */
export async function fetchSample(id: SampleId): Promise<Pick<Document, "files" | "tokenizer">> {
  const { files, tokenizer } = SAMPLES[id];
  const fetchOne = async ([method, path]: readonly [string, string]): Promise<MethodFile> => ({
    method,
    fileName: path.slice(path.lastIndexOf("/") + 1),
    file: await fetchAsset(path),
  });
  const fetched = await Promise.all(files.map(fetchOne));
  if (tokenizer === undefined) return { files: fetched };
  const blob = await fetchAsset(tokenizer);
  return {
    files: fetched,
    tokenizer: { tokenizer: blob, config: null, template: null, preprocessor: null },
  };
}
