// A server under load: many files are posted to examples/server.mjs at once, in rounds, and another
// thread asks for /health meanwhile. docs/server.md has what it prints.
//   node tests/bench/server.mjs [COUNT] [FILE.pt2]
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import http from "node:http";
import { fileURLToPath } from "node:url";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";

const ROUNDS = 3;
const inRoot = (path) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** The status of an answer and the milliseconds until its end. */
function ask(url, agent, body) {
  return new Promise((resolve, reject) => {
    const begin = performance.now();
    const headers = body ? { "content-length": body.length } : {};
    const request = http.request(url, { method: body ? "POST" : "GET", agent, headers });
    request.on("error", reject).on("response", (response) => {
      response.resume().on("end", () => resolve([response.statusCode, performance.now() - begin]));
    });
    request.end(body);
  });
}

/** In a thread of its own, which the load does not hold up. */
async function watchHealth() {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  const times = [];
  let isOn = true;
  parentPort.once("message", () => (isOn = false));
  await ask(`${workerData}health`, agent);
  parentPort.postMessage("ready");
  for (; isOn; await sleep(10)) times.push((await ask(`${workerData}health`, agent))[1]);
  parentPort.postMessage(times);
  agent.destroy();
}

const heard = (worker) => new Promise((resolve) => worker.once("message", resolve));
const megabytes = (pid, what) => {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Math.round(Number(new RegExp(`${what}:\\s+(\\d+)`).exec(status)[1]) / 1000);
};
const part = (times, share) => {
  const sorted = [...times].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))].toFixed(1);
};

async function round(url, count, body) {
  const agent = new http.Agent({ maxSockets: count });
  const watcher = new Worker(new URL(import.meta.url), { workerData: url });
  await heard(watcher);
  const begin = performance.now();
  const answers = await Promise.all(Array.from({ length: count }, () => ask(url, agent, body)));
  const wall = performance.now() - begin;
  const told = heard(watcher);
  watcher.postMessage("stop");
  const health = await told;
  agent.destroy();
  const times = answers.map(([, time]) => time);
  const good = answers.filter(([status]) => status === 200).length;
  return (
    `${good} of ${count} answered 200; wall ${(wall / 1000).toFixed(2)} s, ` +
    `p50 ${part(times, 0.5)} ms, p99 ${part(times, 0.99)} ms; ` +
    `/health p50 ${part(health, 0.5)} ms, max ${part(health, 1)} ms`
  );
}

async function main([count = "50", file = inRoot("models/face-rfb320.pt2")]) {
  const server = spawn(process.execPath, [inRoot("examples/server.mjs"), "0"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    const url = String(await new Promise((resolve) => server.stdout.once("data", resolve))).trim();
    console.log(`started: ${megabytes(server.pid, "VmRSS")} MB`);
    const body = readFileSync(file);
    for (let i = 0; i < ROUNDS; i++) {
      const told = await round(url, Number(count), body);
      console.log(
        `${told}; ${megabytes(server.pid, "VmRSS")} MB, peak ${megabytes(server.pid, "VmHWM")} MB`,
      );
    }
  } finally {
    server.kill();
  }
}

if (isMainThread) await main(process.argv.slice(2));
else await watchHealth();
