// Which languages have a text at all: a schema that refers to itself may have none of finite length.
import type { Language } from "./language.js";

/** The languages that a language is made of. */
function partsOf(language: Language): readonly Language[] {
  switch (language.kind) {
    case "sequence":
      return language.parts;
    case "choice":
      return language.options;
    case "repeat":
      return [language.part];
    case "later":
      return [language.get()];
    default:
      return [];
  }
}

/** All languages within a language, each once. */
function within(language: Language): Language[] {
  const found = new Set<Language>([language]);
  // A set goes on with what is added while it is read.
  for (const one of found) for (const part of partsOf(one)) found.add(part);
  return [...found];
}

/** Finds the languages within a language that have texts of finite length. */
export function finiteWithin(language: Language): ReadonlySet<Language> {
  const finite = new Set<Language>();
  const has = (one: Language): boolean => {
    if (one.kind === "byte") return true;
    const parts = partsOf(one);
    if (one.kind === "choice") return parts.some((part) => finite.has(part));
    return (one.kind === "repeat" && one.min === 0) || parts.every((part) => finite.has(part));
  };
  // Parts come after what they are part of, so that the order from behind needs few rounds.
  const all = within(language).reverse();
  for (let before = -1; before !== finite.size;) {
    before = finite.size;
    for (const one of all) if (!finite.has(one) && has(one)) finite.add(one);
  }
  return finite;
}
