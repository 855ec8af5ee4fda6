// What the user may set before lowering again: names of methods and options.
import { app, type Settings } from "../state.js";

export function setSettings(edit: Partial<Settings>): void {
  const { value } = app.document;
  if (value)
    app.document.value = { ...value, settings: { ...value.settings, ...edit }, isEdited: true };
}

export function renameMethod(index: number, name: string): void {
  const { value } = app.document;
  if (!value) return;
  const files = value.files.map((file, i) => (i === index ? { ...file, method: name } : file));
  app.document.value = { ...value, files, isEdited: true };
}

/** Why these names cannot be lowered; empty when they can. */
export function nameFault(names: readonly string[]): string {
  const bad = names.find((name) => !/^[A-Za-z_]\w*$/.test(name));
  if (bad !== undefined)
    return bad
      ? `'${bad}' is not a name: use letters, digits and _.`
      : "Every method needs a name.";
  return names.some((name, i) => names.indexOf(name) !== i)
    ? "Two methods have the same name."
    : "";
}
