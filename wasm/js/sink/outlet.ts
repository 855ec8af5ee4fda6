// A sink that is open.

/** A sink while a file goes into it. After `close` or `abort` no listener of ours is left on it. */
export interface Outlet {
  write(piece: Uint8Array<ArrayBuffer>): unknown;
  /** All is written. */
  close(): unknown;
  /** No more will come, also if a write has not ended yet; may be called again. Never throws. */
  abort(reason: unknown): unknown;
}
