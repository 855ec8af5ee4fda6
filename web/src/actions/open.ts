// Files that arrive: dropped or chosen. The engine finds the kind from the first bytes, never from
// the name alone. Every file is used, or named with the reason why it was not.
import { missingData } from "@sconce/base/errors.js";
import type { ProgramReport } from "@sconce/types/index.js";
import { app, type Document, type MethodFile, type TokenizerFiles } from "../state.js";
import { leaveSample } from "./address.js";
import { engine, isCancelled } from "./engine.js";
import { filesIn, type Folder } from "./folders.js";
import { handles } from "./handles.js";
import { cancel, freed } from "./task.js";
import { closeDocument, lowerDocument, openProgram, openRecords } from "./lower.js";
import { fault, report, warn } from "./problems.js";
import { takeRecords } from "./records.js";
import { takeArrays } from "./run.js";
import { defaultSettings } from "./samples.js";
import { forgetTalk, showTalk } from "./talking.js";

/** Counts what arrives: a drop that another one followed has nothing more to say. */
let arrivals = 0;

type Kind =
  | "pt2"
  | "pte"
  | "ptd"
  | "etrecord"
  | "etdp"
  | "values"
  | "image"
  | "sound"
  | "npy"
  | keyof TokenizerFiles
  | "unknown";

/** Files of a tokenizer have their names from Hugging Face, with words before them or not. */
const TOKENIZER_NAMES: readonly (readonly [RegExp, keyof TokenizerFiles])[] = [
  [/tokenizer_config\.json$/i, "config"],
  [/tokenizer\.(json|bin)$/i, "tokenizer"],
  [/\.jinja$/i, "template"],
  [/preprocessor_config\.json$/i, "preprocessor"],
];

/** Types of files that systems may not know. */
const SOUND = /\.(wav|mp3|m4a|aac|ogg|oga|opus|flac|weba)$/i;

function isKind(word: string): word is Kind {
  return ["pt2", "pte", "ptd", "etrecord", "etdp"].includes(word);
}

/** A method's name from its file's: "stories260k.prefill.pt2" is prefill. */
function methodName(fileName: string): string {
  const stem = fileName.replace(/\.[^.]*$/, "");
  const name = stem.split(".").at(-1)!.replace(/\W+/g, "_");
  return /^\d/.test(name) || name === "" ? `method_${name}` : name;
}

/** Names for several files: no two alike. */
function nameMethods(files: readonly File[]): MethodFile[] {
  const taken = new Set<string>();
  return files.map((file) => {
    let name = methodName(file.name);
    for (let i = 2; taken.has(name); i++) name = `${methodName(file.name)}_${i}`;
    taken.add(name);
    return { method: name, fileName: file.name, file };
  });
}

/** "stories260k" of stories260k.prefill.pt2 and stories260k.decode.pt2. */
function commonName(names: readonly string[]): string {
  let common = names[0]!;
  for (const name of names) while (!name.startsWith(common)) common = common.slice(0, -1);
  return common.replace(/[\W_]+$/, "") || `${names.length} models`;
}

function openModels(
  files: readonly File[],
  tokenizer: TokenizerFiles | undefined,
): Promise<boolean> {
  const [first] = files;
  const isSingle = files.length === 1;
  const document: Document = {
    title: isSingle ? first!.name : commonName(files.map((file) => file.name)),
    kind: "pt2",
    files: isSingle ? [{ method: "", fileName: first!.name, file: first! }] : nameMethods(files),
    ...(tokenizer && { tokenizer }),
    // Methods that come together usually share what they remember, such as a KV cache.
    settings: { ...defaultSettings(), options: { shareMutableBuffers: !isSingle } },
    isEdited: false,
  };
  app.step.value = "source";
  return lowerDocument(document);
}

const ofTokenizer = ({ name }: File): keyof TokenizerFiles | undefined =>
  TOKENIZER_NAMES.find(([pattern]) => pattern.test(name))?.[1];

async function detect(file: File): Promise<Kind> {
  if (file.type.startsWith("image/")) return "image";
  if (/^(audio|video)\//.test(file.type) || SOUND.test(file.name)) return "sound";
  if (/\.npy$/i.test(file.name)) return "npy";
  const part = ofTokenizer(file);
  if (part) return part;
  const client = await engine();
  const kind = await client.detect(file).catch(() => "unknown");
  const named = /\.(\w+)$/.exec(file.name)?.[1]?.toLowerCase() ?? "";
  if (kind === "etdump") return "etdp";
  // Both are archives: one that is cut short could be either.
  if (kind === "pt2" && named === "etrecord") return "etrecord";
  // A program with cases is opened like one without.
  if (kind === "bpte" || kind === "packed") return "pte";
  if (isKind(kind)) return kind;
  // A damaged file still goes where its name says: the reader knows best what is wrong with it.
  // The values of a dump are mere bytes.
  if (named === "bin") return "values";
  if (named === "bpte") return "pte";
  return isKind(named) ? named : "unknown";
}

type Sorted = Record<Kind, File[]>;

async function sort(files: readonly File[]): Promise<Sorted> {
  const kinds = await Promise.all(files.map(detect));
  const sorted: Sorted = {
    pt2: [],
    pte: [],
    ptd: [],
    etrecord: [],
    etdp: [],
    values: [],
    image: [],
    sound: [],
    npy: [],
    tokenizer: [],
    config: [],
    template: [],
    preprocessor: [],
    unknown: [],
  };
  files.forEach((file, i) => sorted[kinds[i]!].push(file));
  return sorted;
}

function leave(files: readonly { readonly name: string }[], why: string, hint: string): Error[] {
  return files.map(({ name }) => fault("input", `${name} was left out: ${why}`, hint));
}

/** Files that have no use together with the others, and the reasons. */
function leftOut(sorted: Sorted): Error[] {
  const { pt2, pte, ptd, tokenizer, config, template, preprocessor, unknown } = sorted;
  const takesData = pte.length > 0 || app.document.value?.kind === "pte";
  return [
    ...(pt2.length > 0
      ? leave(pte, "it came with .pt2 files, and those were opened", "Open it on its own.")
      : leave(pte.slice(1), "the page holds one program at a time", "Open it on its own.")),
    ...(pt2.length > 0 || !takesData
      ? leave(ptd, "a .ptd holds weights only", "Drop it together with the .pte that needs it.")
      : []),
    ...[tokenizer, config, template, preprocessor].flatMap((files) =>
      leave(files.slice(1), "a model has one tokenizer", "Drop the model with one of them."),
    ),
    ...leave(
      unknown,
      "it is neither a .pt2 nor a .pte, and no record of one",
      "Export the model with torch.export.export and save it with torch.export.save.",
    ),
  ];
}

const NEEDED = "Drop the .ptd that was made together with the .pte.";

/**
 * Faults of the weights that came with a program: some are missing, or files are not used. Weights
 * that parts look up are not always known before they start; then no file is useless.
 */
function dataFaults({ methods }: ProgramReport, data: readonly File[]): Error[] {
  const used = new Set(methods.flatMap((m) => m.externalData.map((need) => need.dataFile)));
  const hasParts = methods.some((m) => m.parts.length > 0);
  const unused = data.filter((_, i) => !hasParts && !used.has(i));
  const lacking = missingData(methods, NEEDED);
  return [
    ...(lacking ? [lacking] : []),
    ...leave(unused, "the program needs no weight in it", NEEDED),
  ];
}

async function openWithData(
  pte: File,
  data: readonly File[],
  tokenizer: TokenizerFiles | undefined,
): Promise<boolean> {
  const isOpen = await openProgram(pte, data, tokenizer);
  if (isOpen) warn(dataFaults(app.program.value!, data));
  return isOpen;
}

/** Weights for the program that is open, as if they had been dropped with it. */
async function addData(
  data: readonly File[],
  tokenizer: TokenizerFiles | undefined,
): Promise<boolean> {
  const pte = app.document.value?.files[0]?.file as File;
  const kept = handles.data.map(({ name, blob }) => new File([blob], name));
  const isNew = ({ name }: File): boolean => !data.some((file) => file.name === name);
  const all = [...kept.filter(isNew), ...data];
  return openWithData(pte, all, tokenizer ?? app.document.value?.tokenizer);
}

/** The function that opens a model among the files; null when there is no model. */
function opener({ pt2, pte, ptd, ...rest }: Sorted): (() => Promise<boolean>) | null {
  const tokenizer = rest.tokenizer.length > 0 ? tokenizerOf(rest) : undefined;
  if (pt2.length > 0) return () => openModels(pt2, tokenizer);
  if (pte.length > 0) return () => openWithData(pte[0]!, ptd, tokenizer);
  return ptd.length > 0 && app.document.value?.kind === "pte"
    ? () => addData(ptd, tokenizer)
    : null;
}

type TokenizerSorted = Pick<Sorted, keyof TokenizerFiles>;

const tokenizerOf = (sorted: TokenizerSorted): TokenizerFiles => ({
  tokenizer: sorted.tokenizer[0] ?? null,
  config: sorted.config[0] ?? null,
  template: sorted.template[0] ?? null,
  preprocessor: sorted.preprocessor[0] ?? null,
});

/** Files of a tokenizer for the model that is open: those that it had and the new ones. */
function addTokenizer(files: TokenizerFiles): Error[] {
  const { value: document } = app.document;
  const all = Object.values(files).filter((file) => file !== null);
  if (!document || document.kind === "record")
    return leave(all as File[], "it belongs to a model", "Drop it together with the model.");
  const { tokenizer: had } = document;
  // Another tokenizer.json is another tokenizer, with a template of its own.
  const kept = files.tokenizer ? undefined : had;
  const tokenizer: TokenizerFiles = {
    tokenizer: files.tokenizer ?? kept?.tokenizer ?? null,
    config: files.config ?? kept?.config ?? null,
    template: files.template ?? kept?.template ?? null,
    preprocessor: files.preprocessor ?? kept?.preprocessor ?? null,
  };
  if (!tokenizer.tokenizer)
    return leave(
      all as File[],
      "the model has no tokenizer yet",
      "Drop it together with tokenizer.json.",
    );
  forgetTalk();
  app.document.value = { ...document, tokenizer };
  showTalk();
  return [];
}

const hasRecords = ({ etrecord, etdp, values }: Sorted): boolean =>
  etrecord.length + etdp.length + values.length > 0;

/** Opens records. If they came alone and none could be opened, the empty document closes. */
async function openRecordFiles(sorted: Sorted): Promise<void> {
  const { left, broken } = await takeRecords(sorted);
  const { value: document } = app.document;
  if (document?.kind === "record" && app.profiles.value.length === 0 && !handles.record)
    closeDocument();
  warn(left);
  for (const error of broken) report(error, null);
}

/** Opens the model first: arrays and pictures are for what is open then. */
async function openSorted(sorted: Sorted, unused: readonly Error[]): Promise<void> {
  const mine = ++arrivals;
  const open = opener(sorted);
  if (open) leaveSample();
  else if (!app.document.value && sorted.etdp.length + sorted.etrecord.length > 0)
    openRecords([...sorted.etdp, ...sorted.etrecord][0]!.name);
  const opening = open?.();
  warn(unused);
  const isOpen = (await opening) ?? true;
  if (mine !== arrivals) return;
  const { npy, image, sound, etrecord, etdp, values, tokenizer } = sorted;
  const others = [...etrecord, ...etdp, ...values, ...npy, ...image, ...sound];
  const files = tokenizerOf(sorted);
  const isOfTokenizer = Object.values(files).some((file) => file !== null);
  if (!isOpen) warn(leave(others, "its model was not opened", "Drop both again."));
  else {
    if (open && tokenizer.length > 0) showTalk();
    else if (isOfTokenizer) warn(addTokenizer(files));
    if (hasRecords(sorted)) await openRecordFiles(sorted);
    if (npy.length > 0) warn(await takeArrays(npy));
    if (image.length + sound.length > 0) {
      const { takeMedia } = await import("./media.js");
      await takeMedia(image, sound);
    }
  }
}

/** Opens whatever was dropped or chosen, each kind in its way, and what is in folders. */
export async function openFiles(
  files: readonly File[],
  folders: readonly Folder[] = [],
): Promise<void> {
  if (files.length + folders.length === 0) return;
  // A tokenizer may come while its model is being lowered.
  if (folders.length > 0 || !files.every(ofTokenizer)) {
    cancel("");
    await freed();
  }
  try {
    const found = await Promise.all(folders.map(filesIn));
    const sorted = await sort([...files, ...found.flat()]);
    const empty = folders.filter((_, i) => found[i]!.length === 0);
    const unused = [
      ...leftOut(sorted),
      ...leave(
        empty,
        "it is a folder without a file that this page opens",
        "Drop a folder with a .pt2 or .pte, or the files themselves.",
      ),
    ];
    await openSorted(sorted, unused);
  } catch (error) {
    if (!isCancelled(error)) report(error, null);
  }
}
