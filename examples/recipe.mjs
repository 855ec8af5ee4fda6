// A recipe of one's own, to copy and to change:
// npx sconce export model.pt2 -o model.pte --recipe recipe.mjs

/** @type {import("sconce").ExportRecipe} */
export default {
  name: "xnnpack, planned as ExecuTorch plans",
  loweringRecipe: { partitioners: ["xnnpack"] },
  executorchBackendConfig: { memoryPlanning: "greedy" },
};
