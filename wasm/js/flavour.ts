// Flavours of the module: the same sources, built for hosts that can do more. Which of them a host can
// use, and why not a faster one.
import { hostModule, isNode, isPage } from "./base/host.js";
import type { EngineOptions, ModuleFlavour } from "./types/index.js";

/** The flavours, by their bits: 1 is relaxed SIMD, 2 is threads. The module tells its own bits. */
export const FLAVOURS = [
  "simd",
  "relaxed",
  "threads",
  "relaxed-threads",
] as const satisfies readonly ModuleFlavour[];

/** The flavours to try, the best one first, and the reasons against better ones. */
export interface Choice {
  readonly flavours: readonly ModuleFlavour[];
  /** The number of threads that may work on one call, the engine's own included. */
  readonly width: number;
  /** The memory that threads share, if there are several. */
  readonly memory: WebAssembly.Memory | undefined;
  readonly reasons: readonly string[];
}

/** The options of an engine that choose its flavour. */
export type FlavourOptions = Pick<EngineOptions, "threads" | "simd" | "deterministic">;

const AUTO_MAX = 8;

// A module of one function that holds one relaxed-SIMD instruction: valid only where those exist.
const RELAXED_PROBE = new Uint8Array([
  0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 15, 1, 13, 0, 65, 1, 253, 15,
  65, 2, 253, 15, 253, 128, 2, 11,
]);

/** Does this host have relaxed SIMD? */
export const hasRelaxedSimd = (): boolean => WebAssembly.validate(RELAXED_PROBE);

type Os = typeof import("node:os");

/** The number of threads that the machine runs at the same time. */
export function machineThreads(): number {
  const { navigator } = globalThis as { navigator?: { hardwareConcurrency?: number } };
  const count =
    hostModule<Os>("node:os")?.availableParallelism?.() ?? navigator?.hardwareConcurrency ?? 1;
  return Math.max(1, count);
}

/** Half of a large machine: its other half are often the second threads of the same cores. */
function autoThreads(): number {
  const count = machineThreads();
  return Math.min(Math.max(Math.min(count, 2), Math.ceil(count / 2)), AUTO_MAX);
}

/** The reason why this host runs kernels on one thread; undefined if it can use several. */
function whyOneThread(): string | undefined {
  const { crossOriginIsolated } = globalThis as { crossOriginIsolated?: boolean };
  if (isPage())
    return "a page's main thread may not wait for other threads; createClient() makes a worker, which may";
  if (crossOriginIsolated === false)
    return "the page is not cross-origin isolated, so its workers share no memory";
  if (typeof SharedArrayBuffer === "undefined") return "this host has no shared memory";
  if (!isNode() && typeof Worker === "undefined") return "this host starts no workers";
  if (isNode() && !hostModule("node:worker_threads")) return "this host starts no threads";
  return undefined;
}

function chooseSimd(options: FlavourOptions, reasons: string[]): boolean {
  if (!hasRelaxedSimd()) reasons.push("this host has no relaxed SIMD");
  else if (options.deterministic)
    reasons.push("'deterministic' asks for results that are the same on every host");
  else if (options.simd === "baseline") reasons.push("'simd' asks for the baseline");
  else return true;
  return false;
}

function chooseWidth({ threads = "auto" }: FlavourOptions, reasons: string[]): number {
  const reason =
    threads === 1
      ? "'threads' asks for one thread"
      : (whyOneThread() ??
        (threads === "auto" && autoThreads() === 1 ? "this machine has one thread" : undefined));
  if (reason !== undefined) reasons.push(reason);
  if (reason !== undefined) return 1;
  return threads === "auto" ? autoThreads() : threads;
}

/** Memory that a module imports, as CMakeLists.txt has it: 4 MB at first, and at most 4 GB. */
export const sharedMemory = (): WebAssembly.Memory =>
  new WebAssembly.Memory({ initial: 64, maximum: 65536, shared: true });

/** The memory, unless the host has no room for what it may become. */
function reserve(reasons: string[]): WebAssembly.Memory | undefined {
  try {
    return sharedMemory();
  } catch {
    reasons.push("this host has no address space for memory that threads share");
    return undefined;
  }
}

/** Chooses the flavour for an engine of this host. */
export function choose(options: FlavourOptions): Choice {
  const reasons: string[] = [];
  const isRelaxed = chooseSimd(options, reasons);
  const wanted = chooseWidth(options, reasons);
  const memory = wanted > 1 ? reserve(reasons) : undefined;
  const width = memory ? wanted : 1;
  const best = FLAVOURS[(isRelaxed ? 1 : 0) + (width > 1 ? 2 : 0)]!;
  const rest = FLAVOURS.filter((name) => name === "simd" || (isRelaxed && name === "relaxed"));
  const flavours = [...new Set([best, ...rest.reverse()])];
  return { flavours, width, memory, reasons };
}
