// What the user may set before lowering again: names of methods and options.
import { parseConstant } from "@sconce/call/constant.js";
import { OPTIONS } from "@sconce/border/options.gen.js";
import { accepts, isTaken, type Bounds, type Chosen } from "@sconce/call/options.js";
import type { ConstantValue } from "@sconce/types/index.js";
import { versionOf } from "../derived.js";
import { app, type Document, type Quantizing, type Settings } from "../state.js";
import { showStep } from "./look.js";
import { fault, sentenceOf } from "./problems.js";

export function setSettings(edit: (settings: Settings) => Partial<Settings>): void {
  const { value } = app.document;
  if (!value) return;
  const settings = { ...value.settings, ...edit(value.settings) };
  app.document.value = { ...value, settings, isEdited: true };
}

export function setOption(name: string, value: unknown): void {
  setSettings(({ options }) => ({ options: { ...options, [name]: value } }));
}

/** The largest value of one name; NaN for none. */
export function setBound(option: string, bounds: Bounds, name: string, max: number): void {
  const { [name]: _, ...others } = bounds;
  setOption(option, Number.isNaN(max) ? others : { ...others, [name]: { max } });
}

/** Gives a method to a backend; to none with "". */
export function setBackend(method: string, backend: string): void {
  setSettings(({ backends: { [method]: _, ...others } }) => ({
    backends: backend ? { ...others, [method]: backend } : others,
  }));
}

export function setQuantizing(edit: Partial<Quantizing>): void {
  setSettings(({ quantizing }) => ({ quantizing: { ...quantizing, ...edit } }));
}

export const isQuantized = ({ settings }: Document): boolean => settings.quantizing.recipe !== "";

export function setVerifies(verifies: boolean): void {
  setSettings(() => ({ verifies }));
}

export const isDelegated = ({ settings }: Document): boolean =>
  Object.keys(settings.backends).length > 0;

export function setConstants(constants: string): void {
  setSettings(() => ({ constants }));
}

export function renameMethod(index: number, name: string): void {
  const { value } = app.document;
  if (!value) return;
  const files = value.files.map((file, i) => (i === index ? { ...file, method: name } : file));
  app.document.value = { ...value, files, isEdited: true };
}

/** The bounds that were given for sizes of METHOD, of what METHOD is called now. */
function renamed(bounds: Bounds, names: ReadonlyMap<string, string>): Bounds {
  return Object.fromEntries(
    Object.entries(bounds).map(([key, bound]) => {
      const [, method = "", size = ""] = /^(.*):(.*)$/su.exec(key) ?? [];
      const now = names.get(method);
      return [now === undefined ? key : `${now}:${size}`, bound];
    }),
  );
}

/** The document with settings that call its methods what they are called now. */
export function withNames(document: Document): Document {
  const methods = versionOf(app.report.value, "source")?.methods ?? [];
  const { files, settings } = document;
  if (files.length < 2 || methods.length !== files.length) return document;
  const names = new Map(methods.map(({ name }, i) => [name, files[i]!.method]));
  const options: Chosen = Object.fromEntries(
    Object.entries(settings.options).map(([name, value]) => {
      const option = OPTIONS.find((row) => row.name === name);
      return [name, option?.kind === "bounds" ? renamed(value as Bounds, names) : value];
    }),
  );
  const backends = Object.fromEntries(
    Object.entries(settings.backends).map(([name, backend]) => [names.get(name) ?? name, backend]),
  );
  const calibration = settings.quantizing.calibration.map((item) => ({
    ...item,
    method: names.get(item.method) ?? item.method,
    calls: Object.fromEntries(
      Object.entries(item.calls).map(([name, calls]) => [names.get(name) ?? name, calls]),
    ),
  }));
  const quantizing = { ...settings.quantizing, calibration };
  return { ...document, settings: { ...settings, options, backends, quantizing } };
}

/** Goes to a field of the settings: the first of those with an attribute that is still empty. */
function showField(attribute: string): void {
  showStep("source");
  app.views.value = { ...app.views.value, source: "summary" };
  // Once the view is there.
  requestAnimationFrame(() => {
    const fields = [...document.querySelectorAll<HTMLInputElement>(`[${attribute}]`)];
    const field = fields.find(({ value }) => value === "") ?? fields[0];
    field?.closest("details")?.setAttribute("open", "");
    field?.focus({ preventScroll: true });
    // The dock covers the lower part of the window.
    field?.scrollIntoView({ block: "start" });
  });
}

/** Goes to where sizes are given a maximum. */
export const showBounds = (): void => showField("data-bound");

/** Goes to where methods are given to backends. */
export const showSettings = (): void => showField("data-backend");

/** "get_max_seq_len = 256" a line, as constant methods. */
export function parseConstants(text: string): Record<string, ConstantValue> {
  const lines = text
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);
  return Object.fromEntries(
    lines.map((line) => {
      const [, name, value] = /^([A-Za-z_]\w*)\s*=\s*(.+)$/.exec(line) ?? [];
      if (name && value) return [name, parseConstant(value)];
      throw fault(
        "option",
        `'${line}' is not a constant method`,
        "Write name = value, one per line, such as get_max_seq_len = 256.",
      );
    }),
  );
}

function nameFault(names: readonly string[]): string {
  const bad = names.find((name) => !/^[A-Za-z_]\w*$/.test(name));
  if (bad === "") return "Every method needs a name.";
  if (bad !== undefined) return `'${bad}' is not a name: use letters, digits and _.`;
  const isTwice = names.some((name, i) => names.indexOf(name) !== i);
  return isTwice ? "Two methods have the same name." : "";
}

/** Why a document cannot be lowered as it is set; empty when it can. */
export function settingsFault({ files, settings }: Document): string {
  const names = files.length > 1 ? nameFault(files.map((file) => file.method)) : "";
  if (names) return names;
  const wrong = OPTIONS.find(
    (option) => !isTaken(option, settings.options[option.name] ?? option.default),
  );
  if (wrong) return `${wrong.label} must be ${accepts(wrong)}.`;
  try {
    parseConstants(settings.constants);
    return "";
  } catch (error) {
    return sentenceOf(error);
  }
}
