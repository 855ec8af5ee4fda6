// Thousands of runs in engines and clients with random numbers of threads, cancelled and ended at
// random: nothing hangs, and results are always the same bits.
import { readFileSync } from "node:fs";
import * as sconce from "sconce";
import { inBrowser } from "./browser.mjs";
import { sample } from "./prepare.mjs";
import { lowerBoth } from "./inference.mjs";
import { soak as work } from "./soak_work.mjs";

export async function soak({ quick, browser, seconds }) {
  const path = sample("face-rfb320.pt2");
  const { delegated, portable } = await lowerBoth({ path });
  const limits = { runs: quick ? 60 : 10_000, seconds: Number(seconds ?? 1800) };
  if (browser) return { face: await inBrowser("soak", limits, { delegated, portable, pt2: path }) };
  const input = sconce.tensor(new Float32Array(3 * 240 * 320).fill(0.25), [1, 3, 240, 320]);
  const programs = { ptes: [delegated, portable], pt2: readFileSync(path), input };
  return { face: await work(sconce, programs, limits) };
}
