// Set-up before a script's own work: the machine set up by tools/setup.sh, and presets of CMake
// built. Work that takes time is announced, and each piece is a step.
import { existsSync } from "node:fs";
import { quietly, say, step, together } from "./progress.mjs";
import { inRoot, output } from "./steps.mjs";

// Which work waits for which; all others go side by side.
const after = { emscripten: "packages", libraries: "emscripten", official: "packages" };

// The set-up still to do for these parts: { parts, work, seconds, title } each.
export function due(...parts) {
  const lines = output("bash", ["tools/setup.sh", "--due", ...parts]).split("\n");
  return lines.filter(Boolean).map((line) => {
    const [, work, seconds, title] = /^(\w+) (\d+) (.*)$/.exec(line);
    return { parts, work, seconds: Number(seconds), title };
  });
}

// Seconds as people say them.
export function about(seconds) {
  const tens = 10 * Math.ceil(seconds / 10);
  if (tens < 60) return `${tens} s`;
  if (tens >= 300) return `${Math.ceil(seconds / 60)} min`;
  return `${Math.floor(tens / 60)} min${tens % 60 ? ` ${tens % 60} s` : ""}`;
}

// Says what is going to be done and how long that takes, if it is worth waiting for: `works`, and
// then `more` seconds for the rest.
export function announce(works, more = 0) {
  const endOf = (name) => {
    if (!name) return 0;
    return (works.find(({ work }) => work === name)?.seconds ?? 0) + endOf(after[name]);
  };
  const seconds = Math.max(0, ...works.map(({ work }) => endOf(work))) + more;
  if (seconds < 10) return;
  say(`To do first (about ${about(seconds)} on two cores with a fast network):`);
  for (const { title } of works) say(`  - ${title}`);
  if (more) say("  - the build");
}

// Starts what is due. The returned function gives the promise that a piece of work, and all before
// it, is done.
export function start(works) {
  const begun = new Map();
  const ready = (work) => {
    return work === undefined ? Promise.resolve() : (begun.get(work) ?? ready(after[work]));
  };
  for (const { parts, work, title } of works) {
    const make = () => quietly("bash", ["tools/setup.sh", "--do", work, ...parts]);
    begun.set(
      work,
      ready(after[work]).then(() => step(title, make)),
    );
  }
  return ready;
}

export async function setUp(...parts) {
  const works = due(...parts);
  announce(works);
  const ready = start(works);
  await together(...works.map(({ work }) => ready(work)));
}

// Configures when needed, with more variables, and builds a preset of CMake, as a part of a step.
export async function makePreset(preset, note, variables = []) {
  // Without this file CMake was never configured here, or was stopped half way.
  if (!existsSync(inRoot("build", preset, "build.ninja"))) {
    await quietly("cmake", ["--preset", preset, ...variables]);
  }
  await quietly("cmake", ["--build", "--preset", preset], { note });
}

// The same as a step of its own.
export const buildPreset = (preset, title, variables) =>
  step(title, (note) => makePreset(preset, note, variables));
