// All commands, in the order of the help.
import { BUNDLE } from "./bundle.js";
import type { Command } from "./command.js";
import { completionOf } from "./completion.js";
import { DOCS } from "./docs.js";
import { EXPORT } from "./export.js";
import { INSPECT } from "./inspect.js";
import { LOWER } from "./lower.js";
import { OPERATORS } from "./operators.js";
import { RUN } from "./run.js";
import { STUDIO } from "./studio.js";

export const COMMANDS: readonly Command[] = [
  LOWER,
  EXPORT,
  RUN,
  INSPECT,
  BUNDLE,
  OPERATORS,
  STUDIO,
  DOCS,
  completionOf(() => COMMANDS),
];
