// Reports of the core (diagnostics, what is in a program or a record, verdicts) have snake_case keys,
// those of the interface are camelCase, as other answers are from the start: translated here, for all
// of them. Keys of dictionaries (names of operators) are data and stay as they are.

const DICTIONARIES = new Set(["ops"]);

export function camelKeys(value: unknown, isDictionary = false): unknown {
  if (Array.isArray(value)) return value.map((item) => camelKeys(item));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      isDictionary ? key : key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
      camelKeys(item, DICTIONARIES.has(key)),
    ]),
  );
}
