// Sizes as people read them: three significant digits and the unit that goes with them.

const UNITS = ["KB", "MB", "GB"] as const;

/** 1234 as "1.23 KB"; `gap` stands between number and unit. */
export function formatBytes(bytes: number, gap = " "): string {
  if (bytes < 1000) return `${bytes}${gap}B`;
  let value = bytes / 1000;
  let unit = 0;
  // What rounds to a thousand is one of the next unit.
  for (; value >= 999.5 && unit < UNITS.length - 1; unit++) value /= 1000;
  const digits = value >= 99.95 ? Math.round(value).toString() : value.toPrecision(3);
  return `${digits}${gap}${UNITS[unit]}`;
}
