// The recipe in the lowering settings: which one, what it takes, and what it is calibrated on.
import type { JSX } from "preact";
import {
  chosenRecipe,
  isGroupSize,
  RECIPES,
  setRecipe,
  type RecipeRow,
} from "../actions/recipes.js";
import { setQuantizing } from "../actions/settings.js";
import { app } from "../state.js";
import { CalibrationField } from "./CalibrationField.js";

/** The gain of each recipe, and its cost. */
const WORDS: Readonly<Record<string, string>> = {
  portable: "Full precision on the portable kernels: runs everywhere, slowest",
  xnnpack_fp32: "Full precision on XNNPACK: much faster, and as large as before",
  xnnpack_pt2e_int8_dynamic_per_channel:
    "Linear layers and convolutions of images in 8 bits, their weights a quarter of the size; no calibration: each run measures its inputs",
  xnnpack_pt2e_int8_static_per_channel:
    "Linear layers, convolutions and much between them in 8 bits, down to a quarter of the size; needs inputs to calibrate on, and loses a little",
  xnnpack_pt2e_int8_static_per_tensor:
    "As per channel with one scale for each weight: simpler for the device, and loses more",
  xnnpack_torchao_int8da_int4w_per_channel:
    "Linear weights in 4 bits, an eighth of their size, with inputs in 8; made for language models, and loses more than 8 bits",
  xnnpack_torchao_int8da_int4w_per_tensor:
    "Linear weights in 4 bits with a scale for each group: loses less than one per channel, and is a little larger",
  sconce_llm_8da4w:
    "For language models: linear weights in 4 bits with a scale for each group, their inputs in 8, tables of embeddings in 8 bits; the rest in full precision",
  sconce_int8_weight_only:
    "Weights of linear layers and embeddings in 8 bits, a quarter of their size, with little lost; computes in full precision",
  sconce_int4_weight_only:
    "Weights of linear layers and embeddings in 4 bits, about a sixth of their size with a scale for each group of 32; computes in full precision, and loses more",
  sconce_fp16_weights:
    "Weights of linear layers, convolutions and embeddings as halves, half their size with hardly a difference; computes in full precision",
};

function Picker(props: { chosen: RecipeRow | undefined }): JSX.Element {
  const { chosen } = props;
  const words = chosen ? WORDS[chosen.name] : "Custom: the backends are chosen below";
  return (
    <label class="field">
      <span>
        Recipe
        <span class="soft note" id="recipe-words">
          {words ?? "A recipe of your own"}
        </span>
      </span>
      <select
        data-recipe
        class="mono"
        value={chosen?.name ?? ""}
        aria-describedby="recipe-words"
        onChange={(event) => setRecipe(event.currentTarget.value)}
      >
        {chosen ? null : <option value="">custom</option>}
        {RECIPES.map(({ name }) => (
          <option key={name}>{name}</option>
        ))}
      </select>
    </label>
  );
}

function GroupSize(): JSX.Element {
  const { groupSize } = app.document.value!.settings.quantizing;
  const isRight = isGroupSize(groupSize);
  return (
    <label class="field">
      <span>
        Group size
        <span class="soft note">
          Weights that share a scale, a multiple of 32: fewer lose less, and take more room; with 0
          each channel has one
        </span>
      </span>
      <input
        type="number"
        min={0}
        step={32}
        required
        value={Number.isNaN(groupSize) ? "" : groupSize}
        aria-invalid={!isRight}
        onInput={(event) => setQuantizing({ groupSize: event.currentTarget.valueAsNumber })}
      />
    </label>
  );
}

function Skip(): JSX.Element {
  const { skip } = app.document.value!.settings.quantizing;
  return (
    <label class="field">
      <span>
        Do not quantize
        <span class="soft note">
          One per line: nodes, modules with all in them, or operators by name; * is any text, and =
          before a name is that node alone
        </span>
      </span>
      <textarea
        class="mono"
        rows={2}
        spellcheck={false}
        value={skip}
        placeholder={"layers.0\naten.linear"}
        onInput={(event) => setQuantizing({ skip: event.currentTarget.value })}
      />
    </label>
  );
}

function Compares(): JSX.Element {
  const { compares } = app.document.value!.settings.quantizing;
  return (
    <label class="check">
      <input
        type="checkbox"
        checked={compares}
        onChange={(event) => setQuantizing({ compares: event.currentTarget.checked })}
      />
      <span>
        Compare every node
        <span class="soft note">
          Run both programs on two calls, and say how far each node is off
        </span>
      </span>
    </label>
  );
}

export function RecipeFields(): JSX.Element | null {
  const document = app.document.value;
  if (!document) return null;
  const chosen = chosenRecipe(document);
  return (
    <>
      <fieldset class="recipe">
        <legend>Recipe</legend>
        <Picker chosen={chosen} />
        {chosen?.hasGroups ? <GroupSize /> : null}
        {chosen?.isQuantizing ? (
          <>
            <Skip />
            <Compares />
          </>
        ) : null}
      </fieldset>
      {chosen?.isQuantizing ? <CalibrationField isCalibrated={chosen.isCalibrated} /> : null}
    </>
  );
}
