// How much memory the module has.
import type { TestContext } from "node:test";
import { createEngine, type Engine } from "sconce";

/** An engine, and how much memory its module has: that only grows. */
export async function measured(t: TestContext): Promise<[engine: Engine, heapBytes: () => number]> {
  const { mock } = t.mock.method(WebAssembly, "instantiate");
  const engine = await createEngine();
  const { exports } = (await mock.calls[0]!.result) as unknown as WebAssembly.Instance;
  const memory = Object.values(exports).find((one) => one instanceof WebAssembly.Memory)!;
  mock.restore();
  return [engine, () => memory.buffer.byteLength];
}
