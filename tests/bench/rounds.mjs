// The memory of a process over 200 rounds of lowering, loading and running the face detector, by an
// engine and by a client, with dispose() and without it.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { StepFailed, inRoot } from "../../tools/steps.mjs";

const ROUNDS = 200;
const CASES = {
  "engine, dispose()": ["createEngine", true],
  "engine, forgotten": ["createEngine", false],
  "client, dispose()": ["createClient", true],
  "client, forgotten": ["createClient", false],
};

/** In a process of its own: the resident memory after each quarter of the rounds, in MB. */
async function measure(create, disposes, count) {
  const sconce = await import("sconce");
  const worker = await sconce[create]();
  const file = readFileSync(inRoot("models/face-rfb320.pt2"));
  const input = sconce.tensor(new Float32Array(3 * 240 * 320), [1, 3, 240, 320]);
  const found = {};
  for (let i = 1; i <= count; i++) {
    const lowered = await worker.lower(file);
    const program = await worker.load(lowered);
    await program.run([input]);
    if (disposes) {
      await program.dispose();
      await lowered.dispose();
    }
    // Objects that are forgotten are found between turns of the loop.
    await new Promise((resolve) => setImmediate(resolve));
    if (i % (count / 4) === 0) found[`mb_after_${i}`] = Math.round(process.memoryUsage.rss() / 1e6);
  }
  console.log(JSON.stringify(found));
  process.exit();
}

export function rounds({ quick }) {
  return Object.fromEntries(
    Object.entries(CASES).map(([name, about]) => {
      const args = [...about, quick ? 4 : ROUNDS];
      const script = new URL(import.meta.url).pathname;
      const child = spawnSync(process.execPath, [script, JSON.stringify(args)], {
        encoding: "utf8",
        stdio: ["ignore", "pipe", 2],
      });
      if (child.status !== 0) throw new StepFailed(`${name} ended with ${child.status}`);
      return [name, JSON.parse(child.stdout)];
    }),
  );
}

if (process.argv[1] === new URL(import.meta.url).pathname)
  await measure(...JSON.parse(process.argv[2]));
