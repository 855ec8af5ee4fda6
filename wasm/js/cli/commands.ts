// All commands, in the order of the help.
import { BUILD_RUNTIME } from "./build/build_runtime.js";
import { BUNDLE } from "./bundle.js";
import type { Command } from "./shell/command.js";
import { completionOf } from "./completion.js";
import { EXPORT } from "./export/export.js";
import { CHAT } from "./llm/chat.js";
import { INSPECT } from "./inspect/inspect.js";
import { LOWER } from "./lower/lower.js";
import { OPERATORS } from "./operators.js";
import { PACK } from "./pack.js";
import { RUN } from "./run/run.js";
import { DOCS } from "./studio/docs.js";
import { STUDIO } from "./studio/studio.js";

/** All commands, in the order of the help. */
export const COMMANDS: readonly Command[] = [
  LOWER,
  EXPORT,
  RUN,
  CHAT,
  INSPECT,
  BUNDLE,
  BUILD_RUNTIME,
  PACK,
  OPERATORS,
  STUDIO,
  DOCS,
  completionOf(() => COMMANDS),
];
