// What arrives: files that are dropped or chosen, and samples. Kinds are told by the engine from
// the first bytes, never from the name alone.
import { app, type Document, type MethodFile } from "../state.js";
import { engine } from "./engine.js";
import { lowerDocument, openProgram } from "./lower.js";
import { cancel, freed } from "./job.js";
import { stopDemos } from "./demos.js";
import { showPicture } from "./face.js";
import { fault, report } from "./problems.js";
import { takeArrays } from "./run.js";
import { defaultSettings } from "./samples.js";

const stem = (name: string): string => name.replace(/\.[^.]*$/, "");

/** A method's name from its file's: "stories260k.prefill.pt2" is prefill. */
function methodName(fileName: string): string {
  const name = stem(fileName).split(".").at(-1)!.replace(/\W+/g, "_");
  return /^\d/.test(name) || name === "" ? `method_${name}` : name;
}

/** Names for several files: no two alike. */
export function nameMethods(files: readonly File[]): MethodFile[] {
  const taken = new Set<string>();
  return files.map((file) => {
    let name = methodName(file.name);
    for (let i = 2; taken.has(name); i++) name = `${methodName(file.name)}_${i}`;
    taken.add(name);
    return { method: name, fileName: file.name, file };
  });
}

async function openModels(files: readonly File[]): Promise<void> {
  const single = files.length === 1;
  const document: Document = {
    title: single ? files[0]!.name : commonName(files.map((file) => file.name)),
    kind: "pt2",
    files: single
      ? [{ method: "", fileName: files[0]!.name, file: files[0]! }]
      : nameMethods(files),
    // Methods that come together usually share what they remember, such as a KV cache.
    settings: { ...defaultSettings(), shareState: !single },
    isEdited: false,
  };
  app.step.value = "source";
  await lowerDocument(document);
}

/** "stories260k" of stories260k.prefill.pt2 and stories260k.decode.pt2. */
function commonName(names: readonly string[]): string {
  let common = names[0]!;
  for (const name of names) while (!name.startsWith(common)) common = common.slice(0, -1);
  return common.replace(/[\W_]+$/, "") || `${names.length} models`;
}

async function detect(file: File): Promise<string> {
  if (file.type.startsWith("image/")) return "image";
  if (/\.npy$/i.test(file.name)) return "npy";
  const client = await engine();
  const kind = await client.detect(file).catch(() => "unknown");
  // A damaged file still goes where its name says: the reader knows best what is wrong with it.
  const named = /\.(pt2|pte)$/i.exec(file.name)?.[1]?.toLowerCase();
  return kind === "unknown" && named ? named : kind;
}

/** Opens whatever was dropped or chosen, each kind in its way. */
export async function openFiles(list: Iterable<File>): Promise<void> {
  const files = [...list];
  if (files.length === 0) return;
  cancel("");
  await freed();
  try {
    const kinds = await Promise.all(files.map(detect));
    const of = (kind: string): File[] => files.filter((_, i) => kinds[i] === kind);
    const [models, programs] = [of("pt2"), of("pte")];
    if (of("image").length > 0) await showPicture(of("image")[0]!);
    if (of("npy").length > 0) await takeArrays(of("npy"));
    if (models.length > 0 || programs.length > 0) stopDemos();
    if (models.length > 0) await openModels(models);
    else if (programs.length > 0) await openProgram(programs[0]!.name, programs[0]!, of("ptd"));
    const unknown = of("unknown")[0];
    if (unknown) {
      throw fault(
        "format",
        `${unknown.name} is neither a .pt2 nor a .pte`,
        "Export the model with torch.export.export and save it with torch.export.save.",
      );
    }
    if (of("ptd").length > 0 && programs.length === 0) {
      throw fault(
        "format",
        "a .ptd holds weights only",
        "Drop it together with the .pte that it belongs to.",
      );
    }
  } catch (error) {
    report(error, null);
  }
}
