// Servers under load: many files are posted at once, in rounds, and another thread asks for /health
// meanwhile. The servers take turns, so that a busy machine is busy for all of them.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import http from "node:http";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { StepFailed, inRoot } from "../../tools/steps.mjs";
import { round } from "./measure.mjs";

const ROUNDS = 3;
const COUNT = 50;
const QUICK = { rounds: 1, count: 4 };
const SERVERS = {
  "createPool()": ["examples/server.mjs", "0"],
  "an engine on the main thread": ["tests/bench/plain_server.mjs", "0"],
  "one client": ["tests/bench/plain_server.mjs", "1"],
  "two clients, in turn": ["tests/bench/plain_server.mjs", "2"],
};
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
  await ask(`${workerData.url}health`, agent);
  parentPort.postMessage("ready");
  for (; isOn; await sleep(10)) times.push((await ask(`${workerData.url}health`, agent))[1]);
  parentPort.postMessage(times);
  agent.destroy();
}

const heard = (worker) => new Promise((resolve) => worker.once("message", resolve));
const megabytes = (pid) => {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Math.round(Number(/VmHWM:\s+(\d+)/.exec(status)[1]) / 1000);
};
const at = (times, share) => {
  const sorted = [...times].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
};

/** Posts the files at once; all must be answered. */
async function post(url, body, count) {
  const agent = new http.Agent({ maxSockets: count });
  const watcher = new Worker(new URL(import.meta.url), { workerData: { url } });
  await heard(watcher);
  const begin = performance.now();
  const answers = await Promise.all(Array.from({ length: count }, () => ask(url, agent, body)));
  const wall = performance.now() - begin;
  const reported = heard(watcher);
  watcher.postMessage("stop");
  const health = await reported;
  agent.destroy();
  const failed = answers.filter(([status]) => status !== 200).length;
  if (failed > 0) throw new StepFailed(`${failed} of ${count} requests failed`);
  const times = answers.map(([, time]) => time);
  return {
    wall_ms: wall,
    p50_ms: at(times, 0.5),
    p99_ms: at(times, 0.99),
    health_p50_ms: at(health, 0.5),
    health_longest_ms: at(health, 1),
  };
}

async function started(args) {
  const process_ = spawn(process.execPath, [inRoot(args[0]), ...args.slice(1)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const line = await new Promise((resolve) => process_.stdout.once("data", resolve));
  return { process: process_, url: String(line).trim(), rounds: [] };
}

/** "0.6 to 1.1": the least and the largest of the rounds. */
const range = (numbers) => `${round(Math.min(...numbers))} to ${round(Math.max(...numbers))}`;

export async function server({ quick }) {
  const { rounds: most, count } = quick ? QUICK : { rounds: ROUNDS, count: COUNT };
  const body = readFileSync(inRoot("models/face-rfb320.pt2"));
  const running = {};
  try {
    for (const [name, args] of Object.entries(SERVERS)) running[name] = await started(args);
    for (let i = 0; i < most; i++)
      for (const one of Object.values(running)) one.rounds.push(await post(one.url, body, count));
    return Object.fromEntries(
      Object.entries(running).map(
        ([
          name,
          {
            process: { pid },
            rounds,
          },
        ]) => {
          const columns = Object.keys(rounds[0]).map((key) => [
            key,
            range(rounds.map((r) => r[key])),
          ]);
          return [name, { ...Object.fromEntries(columns), peak_mb: megabytes(pid) }];
        },
      ),
    );
  } finally {
    for (const { process } of Object.values(running)) process.kill();
  }
}

if (!isMainThread) await watchHealth();
