// Wrong usage, and the exit codes of the command.

/** The command line is wrong: exit code 2. */
export class UsageError extends Error {
  constructor(
    message: string,
    readonly hint = "",
  ) {
    super(message);
  }
}

/** The exit codes of the command. */
export const EXIT = { done: 0, failed: 1, usage: 2 } as const;
