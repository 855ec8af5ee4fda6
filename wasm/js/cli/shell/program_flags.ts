// The flags of commands that load a program.
import type { Flags } from "./flag.js";

/** Its files of data, and the backends of its delegates. */
export const PROGRAM_FLAGS = {
  data: { type: "string", multiple: true, value: "FILE", text: "a .ptd that the program needs" },
  import: {
    type: "string",
    multiple: true,
    value: "FILE",
    text: "a JavaScript module: its default export is a backend, and its objects with a schema are operators",
  },
} as const satisfies Flags;
