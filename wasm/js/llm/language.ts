// Languages of texts as trees of bytes, sequences, choices and repetitions.

/** A language. Objects are compared by identity, so that one object may be a part of many. */
export type Language =
  | { readonly kind: "byte"; readonly has: (byte: number) => boolean }
  | { readonly kind: "sequence"; readonly parts: readonly Language[] }
  | { readonly kind: "choice"; readonly options: readonly Language[] }
  | { readonly kind: "repeat"; readonly part: Language; readonly min: number; readonly max: number }
  /** A language that is known later, so that it may contain itself. */
  | { readonly kind: "later"; readonly get: () => Language };
