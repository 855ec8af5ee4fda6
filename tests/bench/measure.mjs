// Measuring on machines that are shared and noisy: the least of several runs, and ratios only
// between runs that alternate inside one process.

export const minimum = (times) => Math.min(...times);
export const median = (times) => [...times].sort((a, b) => a - b)[Math.floor(times.length / 2)];
export const round = (x) => Number(x.toPrecision(4));

/** Rounds and warm-up for `alternate`; a quick run starts everything once. */
export const pace = (quick, rounds, warmup) => (quick ? [1, 0] : [rounds, warmup]);

/** The rows of a table; in a quick run only those that are named. */
export const some = (quick, table, ...names) =>
  quick ? Object.fromEntries(names.map((name) => [name, table[name]])) : table;

/** True if the least of these is not an accident: several more are close to it. */
function isStable(times) {
  const sorted = [...times].sort((a, b) => a - b);
  return sorted[Math.min(4, sorted.length - 1)] < 1.03 * sorted[0];
}

/**
 * Runs tasks in turn and gives each one's times in ms: `rounds` times after warming up, and up to
 * five times as often as long as the machine is too busy for a least time to show. Every round
 * begins with another task, so that none always follows the same one.
 */
export async function alternate(tasks, rounds, warmup) {
  const times = tasks.map(() => []);
  const goesOn = (i) => i < rounds || (i < 5 * rounds && !times.every(isStable));
  for (let i = -warmup; goesOn(i); i++) {
    for (let turn = 0; turn < tasks.length; turn++) {
      const k = (i + warmup + turn) % tasks.length;
      const begin = performance.now();
      await tasks[k]();
      if (i >= 0) times[k].push(performance.now() - begin);
    }
  }
  return times;
}

/**
 * A task, and the CPU time in ms of each of its runs: what others do on the machine is not in it.
 * Pages cannot tell.
 */
export function onCpu(task) {
  const times = [];
  const timed = async () => {
    const begin = process.cpuUsage();
    await task();
    const { user, system } = process.cpuUsage(begin);
    times.push((user + system) / 1000);
  };
  return [timed, times];
}

/** How far `b` is from `a`, as a share of the largest number in `a`; NaN if they do not compare. */
export function relativeDifference(a, b) {
  if (a.length !== b.length) return NaN;
  let [most, largest] = [0, 0];
  for (let i = 0; i < a.length; i++) {
    most = Math.max(most, Math.abs(a[i] - b[i]));
    largest = Math.max(largest, Math.abs(a[i]));
  }
  return most / largest;
}
