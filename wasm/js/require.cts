// Answers `require("sconce")` on a Node that cannot require ES modules, and says what to do there.
// The types are there all the same, for programs that import the module later.
export type * from "./index.js" with { "resolution-mode": "import" };

const error = new Error(
  'sconce is an ES module, and this Node cannot require() it. Write `await import("sconce")`, ' +
    "or use Node 20.19, 22.12 or newer.",
) as Error & { code: string };
error.code = "ERR_REQUIRE_ESM";
throw error;
