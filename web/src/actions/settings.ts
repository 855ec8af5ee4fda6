// What the user may set before lowering again: names of methods and options.
import { parseConstant } from "@sconce/constant.js";
import { OPTIONS } from "@sconce/options.gen.js";
import { accepts, isTaken } from "@sconce/options.js";
import type { ConstantValue } from "@sconce/types.js";
import { app, type Document, type Settings } from "../state.js";
import { fault, sentenceOf } from "./problems.js";

function setSettings(edit: (settings: Settings) => Partial<Settings>): void {
  const { value } = app.document;
  if (!value) return;
  const settings = { ...value.settings, ...edit(value.settings) };
  app.document.value = { ...value, settings, isEdited: true };
}

export function setOption(name: string, value: unknown): void {
  setSettings(({ options }) => ({ options: { ...options, [name]: value } }));
}

export function setConstants(constants: string): void {
  setSettings(() => ({ constants }));
}

export function renameMethod(index: number, name: string): void {
  const { value } = app.document;
  if (!value) return;
  const files = value.files.map((file, i) => (i === index ? { ...file, method: name } : file));
  app.document.value = { ...value, files, isEdited: true };
}

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
