// The passes that come with the library as functions, by the names that lists of passes take.
import type { PassFunction } from "../types/index.js";
import { cse, foldDequantizeQuantize } from "./simplify.js";
import { quantizeInputs, quantizeOutputs } from "./quantize_io.js";

/** A pass, and what the tables of the module say of it. */
interface LibraryPass {
  readonly name: string;
  readonly summary: string;
  readonly pass: PassFunction;
}

export const LIBRARY: readonly LibraryPass[] = [
  {
    name: "quantizeInputs",
    summary: "Let callers pass integers for quantized inputs",
    pass: quantizeInputs(),
  },
  {
    name: "quantizeOutputs",
    summary: "Return integers for dequantized outputs",
    pass: quantizeOutputs(),
  },
  {
    name: "cse",
    summary: "Compute equal calls once",
    pass: cse,
  },
  {
    name: "foldDequantizeQuantize",
    summary: "Remove a dequantization whose result is quantized again in the same way",
    pass: foldDequantizeQuantize,
  },
];
