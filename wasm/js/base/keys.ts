// Some reports of the core have snake_case keys: diagnostics, contents of programs and records,
// verdicts. Those of the interface are camelCase. All are translated here. Keys of dictionaries
// (names of operators) are data and stay as they are.

const DICTIONARIES = new Set(["ops"]);

/** The value with its keys in camelCase, at any depth. */
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
