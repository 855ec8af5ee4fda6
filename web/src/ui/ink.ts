// The colours of the page for drawings, read from its custom properties when the theme changes.

/** A colour by the name of its property, without the dashes. */
export type Ink = (name: string) => string;

export function inkOf(element: Element): Ink {
  const style = getComputedStyle(element);
  const known = new Map<string, string>();
  return (name) => {
    const before = known.get(name);
    if (before !== undefined) return before;
    const color = style.getPropertyValue(`--${name}`).trim();
    known.set(name, color);
    return color;
  };
}
