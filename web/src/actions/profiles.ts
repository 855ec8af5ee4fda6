// Profiles: dumps that the engine's inspector has opened, and what it tells of them.
import { effect } from "@preact/signals";
import type { Remote } from "@sconce/types/index.js";
import type { Inspector, InspectorFiles, InspectorReport } from "@sconce/types/inspector.js";
import { gapProfile, nodeNameOf, ranIn } from "../profile.js";
import { app, type MethodGap, type Profile, type ProfileLook } from "../state.js";
import { engine, isCancelled, onEngineLost } from "./engine.js";
import { download } from "./files.js";
import { selectNode } from "./look.js";
import { fault, report, sentenceOf } from "./problems.js";

/** What each profile was made from: inspectors die with the worker, files do not. */
const files = new Map<number, InspectorFiles>();
const inspectors = new Map<number, Promise<Remote<Inspector>>>();
let count = 0;

/** The number that the next profile will have. */
export const nextProfile = (): number => count + 1;

onEngineLost(() => inspectors.clear());

/** Lets go of all profiles. */
export function forgetProfiles(): void {
  for (const id of [...inspectors.keys()]) letGo(id);
  files.clear();
}

/** Disposes the inspector of a profile, even one that is still being opened. */
function letGo(id: number): void {
  inspectors.get(id)?.then(
    (inspector) => void inspector.dispose(),
    () => undefined,
  );
  inspectors.delete(id);
}

/** One for all who ask at a time; who asks after a failure asks anew. */
function inspectorOf(id: number): Promise<Remote<Inspector>> {
  const known = inspectors.get(id);
  if (known) return known;
  const opening = openInspector(id);
  inspectors.set(id, opening);
  opening.catch(() => {
    if (inspectors.get(id) === opening) inspectors.delete(id);
  });
  return opening;
}

async function openInspector(id: number): Promise<Remote<Inspector>> {
  const own = files.get(id);
  if (!own) throw fault("disposed", "this profile is gone", "Open its files again.");
  return (await engine()).inspector(own);
}

/** Values and a record to compare them with are there. */
const hasGap = ({ etdump, etrecord }: InspectorReport): boolean =>
  etrecord !== null && (etdump?.values ?? 0) > 0 && etdump?.debugBufferBytes !== null;

/** What the inspector tells, all at once. */
async function tell(id: number, title: string): Promise<Profile> {
  const inspector = await inspectorOf(id);
  const about = await inspector.report();
  const [blocks, ops, modules, timeline, delegation] = await Promise.all([
    inspector.events(),
    inspector.ops(),
    inspector.modules(),
    inspector.timeline(),
    // What went to backends is in the record.
    about.etrecord ? inspector.delegation() : [],
  ]);
  const told = { id, title, report: about, blocks, ops, modules, timeline, delegation };
  return { ...told, canCompare: hasGap(about), gaps: new Map<string, MethodGap>() };
}

/** Gaps of a method, or why there are none. */
async function gapOf(
  inspector: Remote<Inspector>,
  { etrecord }: InspectorReport,
  method: string,
  reference?: string,
): Promise<MethodGap> {
  const options = {
    ...(etrecord!.methods.includes(method) ? { method } : {}),
    ...(reference === undefined ? {} : { reference }),
  };
  try {
    return { report: await inspector.numericGap(options), fault: "" };
  } catch (error) {
    if (isCancelled(error)) throw error;
    return { report: null, fault: sentenceOf(error) };
  }
}

async function tellGap(
  { id, report: about }: Profile,
  method: string,
  reference?: string,
): Promise<void> {
  try {
    const found = await gapOf(await inspectorOf(id), about, method, reference);
    app.profiles.value = app.profiles.value.map((profile) =>
      profile.id === id ? { ...profile, gaps: new Map(profile.gaps).set(method, found) } : profile,
    );
  } catch (error) {
    if (!isCancelled(error)) report(error, "run");
  }
}

/** Compares with the values of another stage of the record. */
export async function setReference(id: number, reference: string): Promise<void> {
  const shown = app.profiles.value.find((profile) => profile.id === id);
  if (shown) await tellGap(shown, app.method.value, reference);
}

/** Shows what was recorded of the method that is shown, and compares its values, once. */
export function watchProfiles(): void {
  const asked = new Set<string>();
  effect(() => {
    const method = app.method.value;
    const list = app.profiles.peek();
    const shown = list.find(({ id }) => id === app.profile.peek());
    if (!shown || ranIn(shown, method)) return;
    const other = list.findLast((profile) => ranIn(profile, method));
    if (other) showProfile(other.id);
  });
  effect(() => {
    const method = app.method.value;
    const { value: shown } = gapProfile;
    const key = `${shown?.id}/${method}`;
    if (!shown?.canCompare || !ranIn(shown, method) || asked.has(key)) return;
    asked.add(key);
    void tellGap(shown, method);
  });
}

/** Opens a dump beside those that are there, and shows it. */
export async function addProfile(title: string, from: InspectorFiles): Promise<Profile> {
  const { value: document } = app.document;
  const id = ++count;
  files.set(id, from);
  try {
    const made = await tell(id, title);
    if (document === app.document.value) {
      app.profiles.value = [...app.profiles.value, made];
      showProfile(id);
    }
    return made;
  } catch (error) {
    letGo(id);
    files.delete(id);
    throw error;
  }
}

function showProfile(id: number): void {
  app.profile.value = id;
  app.event.value = null;
}

/** Shows a profile that was chosen, and the method that it is of. */
export function chooseProfile(id: number): void {
  const chosen = app.profiles.value.find((profile) => profile.id === id);
  showProfile(id);
  const method = chosen?.blocks.find(({ method: name }) => name !== null)?.method;
  if (chosen && method && !ranIn(chosen, app.method.value)) app.method.value = method;
}

export function closeProfile(id: number): void {
  letGo(id);
  files.delete(id);
  app.profiles.value = app.profiles.value.filter((profile) => profile.id !== id);
  app.comparison.value = null;
  showProfile(app.profiles.value.at(-1)?.id ?? 0);
}

export function showProfileLook(look: ProfileLook): void {
  app.profileLook.value = look;
}

/** Selects an event, and the node that it ran, where the version that is shown has it. */
export function selectEvent(block: number, event: number): void {
  app.event.value = { block, event };
  const shown = app.profiles.value.find(({ id }) => id === app.profile.value);
  const node = shown?.blocks[block]?.events[event]?.nodes.at(-1);
  if (node) selectNode(nodeNameOf(node));
}

export async function compareProfiles(a: number, b: number): Promise<void> {
  const own = files.get(b);
  if (!own) return;
  try {
    const found = await (await inspectorOf(a)).compare(own);
    app.comparison.value = { a, b, found };
  } catch (error) {
    if (!isCancelled(error)) report(error, "run");
  }
}

/** Saves the timeline for Perfetto. */
export async function saveTrace(id: number): Promise<void> {
  const shown = app.profiles.value.find((profile) => profile.id === id);
  if (!shown) return;
  try {
    const text = await (await inspectorOf(id)).trace();
    download(new Blob([text], { type: "application/json" }), `${stemOf(shown.title)}.trace.json`);
  } catch (error) {
    if (!isCancelled(error)) report(error, "run");
  }
}

/** Saves the dump itself, and the values beside it. */
export function saveDump(id: number): void {
  const shown = app.profiles.value.find((profile) => profile.id === id);
  const own = files.get(id);
  if (!shown || !(own?.etdump instanceof Blob)) return;
  download(own.etdump, `${stemOf(shown.title)}.etdp`);
  if (own.debugBuffer instanceof Blob && own.debugBuffer.size > 0)
    download(own.debugBuffer, `${stemOf(shown.title)}.debug.bin`);
}

const stemOf = (title: string): string =>
  title.replace(/\.(etdp|etdump)$/i, "").replace(/[^\p{L}\p{N}_-]+/gu, "_");

/** The latest profile once more, with values or a record that came later. */
export async function profileAgain(extra: Partial<InspectorFiles>): Promise<boolean> {
  const last = app.profiles.value.at(-1);
  const own = last && files.get(last.id);
  if (!own) return false;
  await addProfile(last.title, { ...own, ...extra });
  closeOnly(last.id);
  return true;
}

function closeOnly(id: number): void {
  const { value: shown } = app.profile;
  closeProfile(id);
  showProfile(shown);
}
