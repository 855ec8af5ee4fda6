// The core speaks snake_case JSON, the interface camelCase: translated here, once, for every answer.
// Keys of dictionaries (op names, method names) are data and stay as they are.

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
