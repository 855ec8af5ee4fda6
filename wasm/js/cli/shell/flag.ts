// A row of the table of flags.

/** One flag of a command, with its help. */
export interface Flag {
  readonly type: "boolean" | "string";
  readonly short?: string;
  readonly multiple?: boolean;
  /** Stands for the value in the help: FILE, FOLDER, NAME=FILE, N. */
  readonly value?: string;
  /** The value may be left out; an argument that follows is one only if it holds a "=". */
  readonly optional?: boolean;
  /** The words that the flag takes, and no others. */
  readonly words?: readonly string[];
  /** Words that are completed, where there are others as well. */
  readonly suggests?: () => readonly string[];
  /** A heading above the flag and those that follow it. */
  readonly heading?: string;
  readonly text: string;
}
/** The flags of a command, by name. */
export type Flags = Readonly<Record<string, Flag>>;
