// Output of the scripts of tools/ while they work: one line a step, with its time. On a terminal
// the last line says what runs and for how long already; elsewhere a step says its line when it
// ends. The output of a step's commands is kept, and shown when one fails or with --verbose.
import { spawn } from "node:child_process";
import { StepFailed, root } from "./steps.mjs";

export const verbose = process.argv.includes("--verbose");
// For what is not JavaScript: tools/lib.sh asks for it.
if (verbose) process.env.SCONCE_VERBOSE = "1";

// Everything here goes to stderr: stdout belongs to results.
const terminal = process.stderr;
const isLive = terminal.isTTY && !verbose;

// Steps that run now: title to when it began and what it last said of itself.
const running = new Map();
let ticker;

const seconds = (since) => `${((performance.now() - since) / 1000).toFixed(0)} s`;

function redraw() {
  const parts = [...running].map(([title, { begin, note }]) => {
    return `${title}${note ? ` (${note})` : ""} ${seconds(begin)}`;
  });
  const line = parts.length ? `  ${parts.join(", ")} ...` : "";
  terminal.write(`\r\x1b[K${line.slice(0, (terminal.columns || 80) - 1)}`);
}

// Prints a line above the one that lives.
export function say(line) {
  terminal.write(`${isLive ? "\r\x1b[K" : ""}${line}\n`);
  if (isLive && running.size) redraw();
}

function begin(title) {
  running.set(title, { begin: performance.now(), note: "" });
  if (verbose) say(`  ${title} ...`);
  if (!isLive) return;
  ticker ??= setInterval(redraw, 1000);
  redraw();
}

function end(title) {
  const since = running.get(title).begin;
  running.delete(title);
  if (isLive) {
    redraw();
    if (!running.size) ticker = clearInterval(ticker);
  }
  return since;
}

// Does one step of the work and says how long it took; a text that `work` returns is added to the
// line. A step that takes no time to speak of and has no text leaves no line.
export async function step(title, work) {
  begin(title);
  let added;
  try {
    const returned = await work((note) => (running.get(title).note = note));
    if (typeof returned === "string") added = returned;
  } catch (error) {
    say(`  ${title.padEnd(44)} failed after ${seconds(end(title))}`);
    throw error;
  }
  const since = end(title);
  if (added || performance.now() - since >= 1000) {
    say(`  ${title.padEnd(44)} ${seconds(since).padStart(5)}${added ? `   ${added}` : ""}`);
  }
}

// Ninja prints its progress so: [12/200] Building ...
const counted = /^\[(\d+)\/(\d+)\] /;

// Runs a command in the checkout as part of a step, and returns its status and what it printed to
// stdout; throws, after showing all that it printed, if the status is not one of `allowed`. `note`
// hears how far Ninja is.
export function quietly(command, args, { note, allowed = [0], ...options } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd: root,
      stdio: ["ignore", "pipe", "pipe"],
      ...options,
    });
    const text = { all: "", stdout: "" };
    for (const name of ["stdout", "stderr"]) {
      child[name].setEncoding("utf8").on("data", (part) => {
        text.all += part;
        if (name === "stdout") text.stdout += part;
        if (verbose) terminal.write(part);
        const [, done, all] = counted.exec(part) ?? [];
        if (all > 0) note?.(`${done} of ${all}`);
      });
    }
    child.on("error", (error) => reject(new StepFailed(`${command}: ${error.message}`)));
    child.on("close", (status, signal) => {
      if (allowed.includes(status)) return resolve({ status, text: text.stdout });
      const lines = text.all.split("\n").filter((line) => !counted.test(line));
      if (!verbose && text.all) say(lines.join("\n").trim());
      reject(new StepFailed(`${[command, ...args].join(" ")} ended with ${signal ?? status}`));
    });
  });
}

// Waits for all of them, and then throws the first fault: what runs is never left behind.
export async function together(...works) {
  const fault = (await Promise.allSettled(works)).find(({ status }) => status === "rejected");
  if (fault) throw fault.reason;
}
