// Random life of engines and clients with threads, in Node or in a page: any number of threads, runs,
// cancelled calls, ends in the middle of a run. Each result has to be the first one of its flavour.

const PATIENCE_MS = 60_000;

/** The promise, or an error if it takes so long that something hangs. */
function inTime(promise, what) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} hangs`)), PATIENCE_MS);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/** Numbers that follow one another, the same for the same seed. */
function randomOf(seed) {
  let state = seed >>> 0;
  return (count) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * count);
  };
}

const textOf = (outputs) => outputs.map(({ data }) => data.join()).join("\n");

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** The ends that a life may have. */
const ENDS = {
  /** All runs end, and so does the engine. */
  quiet: async () => undefined,
  /** A run is under way when the worker is ended. */
  terminated: async ({ worker, run, pick }) => {
    if (!worker.terminate) return;
    const ended = run().then(
      () => "done",
      (error) => error.code,
    );
    await pause(pick(8));
    worker.terminate();
    const how = await inTime(ended, "a run whose worker was ended");
    if (how !== "done" && how !== "disposed") throw new Error(`the run ended with ${how}`);
  },
  /** A lowering is cancelled in the middle. */
  cancelled: async ({ worker, pt2, pick, run }) => {
    if (!worker.terminate) return;
    const controller = new AbortController();
    const lowering = worker.lower(pt2, { signal: controller.signal }).then(
      (lowered) => lowered.dispose(),
      (error) => {
        if (error.name !== "AbortError") throw error;
      },
    );
    await pause(pick(20));
    controller.abort();
    await inTime(lowering, "a lowering that was cancelled");
    await inTime(run(), "a run after a cancelled call");
  },
};

/**
 * Lives until there were `runs` runs or `seconds` are over. `ptes` are programs that take `input`, and
 * `pt2` is one to lower. A page has clients alone: its own thread may not wait for others.
 */
export async function soak(library, { ptes, pt2, input }, { runs, seconds, seed = 1 }) {
  const pick = randomOf(seed);
  const expected = new Map();
  const tally = { runs: 0, lives: 0, most_threads: 0 };
  const creators =
    typeof document === "undefined" ? ["createEngine", "createClient"] : ["createClient"];
  const end = performance.now() + seconds * 1000;
  while (tally.runs < runs && performance.now() < end) {
    const simd = ["auto", "baseline"][pick(2)];
    const threads = 1 + pick(6);
    const create = creators[pick(creators.length)];
    const notes = [];
    const onLog = (_, text) => notes.push(text);
    const worker = await inTime(library[create]({ simd, threads, onLog }), create);
    const capabilities = await worker.capabilities();
    tally.lives++;
    tally.most_threads = Math.max(tally.most_threads, capabilities.threads);
    const number = pick(ptes.length);
    const program = await inTime(Promise.resolve(worker.load(ptes[number])), "loading");
    const key = `${number} ${capabilities.binary.startsWith("relaxed")}`;
    const outputs = async () => {
      try {
        return await program.run([input]);
      } catch (error) {
        // A note about a thread comes after the error that it caused.
        await pause(500);
        error.message += ` (${threads} threads, ${capabilities.binary}; ${notes.join("; ")})`;
        throw error;
      }
    };
    const run = async () => {
      const text = textOf(await outputs());
      tally.runs++;
      if (!expected.has(key)) expected.set(key, text);
      if (expected.get(key) !== text) throw new Error(`results differ: ${key}, ${threads} threads`);
    };
    for (let i = pick(30); i > 0; i--) {
      await inTime(run(), "a run");
      // Threads that start late come into the middle of things.
      if (pick(4) === 0) await pause(pick(6));
    }
    const name = Object.keys(ENDS)[pick(3)];
    await ENDS[name]({ worker, run, pt2, pick });
    tally[name] = (tally[name] ?? 0) + 1;
    (worker.terminate ?? worker.dispose).call(worker);
  }
  return tally;
}
