// Output of the scripts of tools/ while they work: a line a step, a command's output only when it
// fails or when everything is to be shown, and Ninja's counting never.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";

const progress = new URL("../../tools/progress.mjs", import.meta.url);
const setup = new URL("../../tools/setup.mjs", import.meta.url);

// Runs `body` with both modules' functions in scope; returns what went to stderr.
function said(body, ...args) {
  const program = `
    import { quietly, say, step, together } from ${JSON.stringify(progress.href)};
    import { about, announce } from ${JSON.stringify(setup.href)};
    const shell = (text, options) => quietly("sh", ["-c", text], options);
    ${body}`;
  const { stdout, stderr } = spawnSync(
    process.execPath,
    ["--input-type=module", "-e", program, "--", ...args],
    { encoding: "utf8" },
  );
  assert.equal(stdout, "");
  return stderr;
}

const make = `"echo '[1/2] Building a.c'; echo warning; echo '[2/2] Linking'"`;
const cases = {
  "a step that ends at once says nothing": () => {
    // On a machine that is busy it may not end at once.
    assert.match(said(`await step("fast", () => shell(${make}));`), /^( {2}fast +[1-9]\d* s\n)?$/);
  },
  "a step that has something to say, says it with its time": () => {
    const text = said(
      `await step("module", async () => { await shell(${make}); return "9 kB"; });`,
    );
    assert.match(text, /^ {2}module +\d+ s {3}9 kB\n$/);
  },
  "a step hears how far Ninja is": () => {
    assert.equal(said(`await shell(${make}, { note: (text) => say(text) });`), "1 of 2\n");
  },
  "a step that fails shows what was printed, without the counting": () => {
    const text = said(
      `const bad = step("bad", () => shell(${make.slice(0, -1)}; exit 3"));
       const good = step("good", () => shell("sleep 0.1; echo never"));
       await together(bad, good).catch((error) => say(error.message));`,
    );
    assert.match(
      text,
      /^warning\n {2}bad +failed after \d+ s\n( {2}good .*\n)?sh -c .* ended with 3\n$/,
    );
    assert.doesNotMatch(text, /^\[1|^never/m);
  },
  "with --verbose everything is shown as it comes": () => {
    const text = said(`await step("module", () => shell(${make}));`, "--verbose");
    assert.ok(text.startsWith("  module ...\n[1/2] Building a.c\nwarning\n[2/2] Linking\n"), text);
  },
  "work that takes long is announced with the time of its longest chain": () => {
    const works = [
      { work: "packages", seconds: 10, title: "one" },
      { work: "emscripten", seconds: 25, title: "two" },
      { work: "libraries", seconds: 35, title: "three" },
      { work: "npm", seconds: 8, title: "four" },
    ];
    const text = said(`announce(${JSON.stringify(works)}, 20);`);
    assert.match(
      text,
      /^To do first \(about 1 min 30 s .*\):\n {2}- one\n(.*\n){3} {2}- the build\n$/,
    );
    assert.equal(said(`announce(${JSON.stringify(works.slice(3))});`), "");
    assert.equal(
      said(`say([5, 61, 119, 299, 301].map(about).join());`),
      "10 s,1 min 10 s,2 min,5 min,6 min\n",
    );
  },
};
for (const run of Object.values(cases)) run();
console.log(`${Object.keys(cases).length} passed, 0 failed`);
