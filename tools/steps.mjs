// Shared by the scripts behind `npm run`: running commands, finding the checkout, ending with a
// message. Running quietly, as a step with its time, is in progress.mjs.
import { spawn, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = join(dirname(fileURLToPath(import.meta.url)), "..");
export const inRoot = (...parts) => join(root, ...parts);
export const jobs = availableParallelism();

export class StepFailed extends Error {}

// Runs a command in the checkout with its output shown; throws if it fails.
export function run(command, args, options = {}) {
  const { status, error, signal } = spawnSync(command, args, {
    cwd: root,
    stdio: ["ignore", "inherit", "inherit"],
    ...options,
  });
  if (error) throw new StepFailed(`${command}: ${error.message}`);
  if (status !== 0) throw new StepFailed(`${command} ended with ${signal ?? status}`);
}

// Runs a command and returns what it printed; stderr is shown.
export function output(command, args, options = {}) {
  const result = spawnSync(command, args, {
    cwd: root,
    stdio: ["ignore", "pipe", "inherit"],
    encoding: "utf8",
    maxBuffer: 1 << 28,
    ...options,
  });
  if (result.error) throw new StepFailed(`${command}: ${result.error.message}`);
  if (result.status !== 0) throw new StepFailed(`${command} ended with ${result.status}`);
  return result.stdout;
}

// Runs a command with its output both shown and returned, whether or not it fails; the status is the
// name of the signal for one that was killed.
export function tee(command, args, options = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd: root,
      stdio: ["ignore", "pipe", "pipe"],
      ...options,
    });
    let text = "";
    for (const [from, to] of [
      [child.stdout, process.stdout],
      [child.stderr, process.stderr],
    ]) {
      from.setEncoding("utf8");
      from.on("data", (part) => {
        text += part;
        to.write(part);
      });
    }
    child.on("error", (error) => reject(new StepFailed(`${command}: ${error.message}`)));
    child.on("close", (status, signal) => resolve({ status: status ?? signal, text }));
  });
}

// A command of an installed npm package.
export const bin = (name) => inRoot("node_modules/.bin", name);

// Sanitizers of Debian 12's compilers crash now and then where the kernel spreads addresses wider
// than they know; there, programs under them run with a fixed layout.
export function calmly(command, args) {
  const file = "/proc/sys/vm/mmap_rnd_bits";
  const bits = existsSync(file) ? Number(readFileSync(file, "utf8")) : 0;
  return bits > 28 ? ["setarch", ["-R", command, ...args]] : [command, args];
}

// The browser of the page's tests.
export function chromium() {
  const names = ["chromium", "chromium-browser", "google-chrome"];
  for (const name of [process.env.CHROME_PATH, ...names]) {
    if (!name) continue;
    const found = spawnSync("bash", ["-c", `command -v "$0"`, name], { encoding: "utf8" });
    if (found.status === 0) return found.stdout.trim();
  }
  throw new StepFailed("there is no Chromium here; run tools/setup.sh web");
}

// Runs main; a failed step or a wrong option ends the process with its message and no stack.
export async function script(main) {
  try {
    await main(process.argv.slice(2));
  } catch (error) {
    const isUsage = String(error.code).startsWith("ERR_PARSE_ARGS");
    if (!(error instanceof StepFailed || isUsage)) throw error;
    console.error(error.message);
    process.exitCode = 1;
  }
}
