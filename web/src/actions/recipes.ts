// Recipes by name: which there are, what they do, and what the settings make of one. They come with
// the form that shows them, and with the first program that is quantized.
import { isCalibrated } from "@sconce/recipe/quantize/config.js";
import {
  GROUP_SIZE_OR_NONE,
  isQuantizing,
  quantizationOf,
  skipping,
} from "@sconce/recipe/check.js";
import { RecipeRegistry } from "@sconce/recipe/registry.js";
import type { ExportRecipe, QuantizationRecipe } from "@sconce/types/index.js";
import { versionOf } from "../derived.js";
import { app, type Document, type Problem, type Quantizing } from "../state.js";
import { lowerAgain } from "./lower.js";
import { setQuantizing, setSettings } from "./settings.js";

const registry = RecipeRegistry.shared;

/** The one that changes nothing, and the one that only hands over to a backend. */
const PORTABLE = "portable";

export interface RecipeRow {
  name: string;
  isQuantizing: boolean;
  isCalibrated: boolean;
  hasGroups: boolean;
  /** The backend that runs it; empty for the portable kernels. */
  backend: string;
}

const hasGroups = (name: string): boolean =>
  registry.getSupportedOptions(name).includes("groupSize");

function backendOf({ loweringRecipe }: ExportRecipe): string {
  const { partitioners = [] } = loweringRecipe ?? {};
  const [first] = Array.isArray(partitioners) ? partitioners : [];
  return typeof first === "string" ? first : "";
}

function rowOf(name: string): RecipeRow {
  const recipe = registry.createRecipe(name);
  const quantization = quantizationOf(recipe.quantizationRecipe, "");
  return {
    name,
    isQuantizing: isQuantizing(recipe),
    isCalibrated: quantization !== undefined && isCalibrated(quantization),
    hasGroups: hasGroups(name),
    backend: backendOf(recipe),
  };
}

/** All recipes, in the order of the registry. */
export const RECIPES: readonly RecipeRow[] = registry.getSupportedRecipes().map(rowOf);

export const isGroupSize = (size: number): boolean => GROUP_SIZE_OR_NONE.test(size);

/** The methods of what is open. */
const methodNames = (): string[] =>
  versionOf(app.report.value, "source")?.methods.map(({ name }) => name) ?? [];

/** The recipe that the settings come to; undefined where backends were chosen one by one. */
export function chosenRecipe({ settings }: Document): RecipeRow | undefined {
  const { recipe } = settings.quantizing;
  if (recipe) return RECIPES.find(({ name }) => name === recipe);
  const given = new Set(methodNames().map((method) => settings.backends[method] ?? ""));
  if (given.size > 1) return undefined;
  const [backend] = given;
  return RECIPES.find((row) => !row.isQuantizing && row.backend === (backend ?? ""));
}

/** Takes a recipe: how it quantizes, and the backend that its programs are made for. */
export function setRecipe(name: string): void {
  const row = RECIPES.find((one) => one.name === name) ?? rowOf(PORTABLE);
  const { backend } = row;
  setSettings(({ quantizing }) => ({
    quantizing: { ...quantizing, recipe: row.isQuantizing ? name : "" },
    backends: backend ? Object.fromEntries(methodNames().map((method) => [method, backend])) : {},
  }));
}

const patternsOf = ({ skip }: Quantizing): string[] =>
  skip
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);

/** Leaves one node more as it is, and lowers again. */
export function leaveOut(node: string): void {
  const { quantizing } = app.document.value!.settings;
  const patterns = new Set([...patternsOf(quantizing), `=${node}`]);
  setQuantizing({ skip: [...patterns].join("\n") });
  lowerAgain();
}

/** True if the failure is that groups are not divisors, and groups are optional. */
export function canUngroup({ code, step, message }: Problem): boolean {
  const isOfGroups = code === "argument" && step === "quantized" && /^groups of \d+ /.test(message);
  const { value } = app.document;
  return isOfGroups && value !== null && (chosenRecipe(value)?.hasGroups ?? false);
}

/** Gives each channel one scale instead of groups, and lowers again. */
export function ungroup(): void {
  setQuantizing({ groupSize: 0 });
  lowerAgain();
}

/** How the settings say that programs are quantized. */
export function quantizationFor(quantizing: Quantizing): QuantizationRecipe {
  const { recipe: name, groupSize } = quantizing;
  const options = hasGroups(name) ? { groupSize } : {};
  const { quantizationRecipe } = registry.createRecipe(name, undefined, options);
  return skipping(quantizationRecipe!, patternsOf(quantizing)) as QuantizationRecipe;
}
