// Marks of this package's own classes that every copy of the package knows. A worker has a copy, and
// the module of a pass that runs in the worker imports another: `instanceof` fails between the two.

/** Marks all objects of the class; the result tells them, whichever copy of the class made them. */
export function brand(
  class_: { readonly prototype: object },
  name: string,
): (value: unknown) => boolean {
  const mark = Symbol.for(`sconce.${name}`);
  Object.defineProperty(class_.prototype, mark, { value: true });
  return (value) => (value as Record<symbol, unknown> | null | undefined)?.[mark] === true;
}

/** Marks the class, and makes `instanceof` go by the mark. Classes derived from it are as usual. */
export function brandInstances(class_: { readonly prototype: object }, name: string): void {
  const has = brand(class_, name);
  Object.defineProperty(class_, Symbol.hasInstance, {
    value(this: unknown, value: unknown): boolean {
      return this === class_
        ? has(value)
        : Function.prototype[Symbol.hasInstance].call(this as () => void, value);
    },
  });
}
