// Recipes of files: JSON, or the default export of a module.
import { readFileSync } from "node:fs";
import { messageOf } from "../../base/errors.js";
import { checkRecipe } from "../../recipe/check.js";
import type { ExportRecipe } from "../../types/index.js";
import { defaultOf } from "../shell/backends.js";
import { UsageError } from "../usage.js";

const IS_FILE = /\.(json|mjs|js)$/;

/** True if the value of --recipe is a file. No recipe has such a name. */
export const isRecipeFile = (name: string): boolean => IS_FILE.test(name);

function fromJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    throw new UsageError(
      `--recipe ${path} cannot be read: ${messageOf(error)}`,
      "Give a file with a recipe in JSON, or a module whose default export is one.",
    );
  }
}

async function fromModule(path: string): Promise<unknown> {
  const found = await defaultOf("--recipe", path);
  if (found !== undefined) return found;
  throw new UsageError(
    `--recipe ${path} has no default export`,
    "Write: export default { loweringRecipe: { partitioners: ['xnnpack'] } };",
  );
}

/** The recipe of a file. */
export async function recipeIn(path: string): Promise<ExportRecipe> {
  const recipe = path.endsWith(".json") ? fromJson(path) : await fromModule(path);
  checkRecipe(recipe, `the recipe of ${path}`);
  return recipe;
}
