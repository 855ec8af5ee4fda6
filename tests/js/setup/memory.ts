// How much memory the module has.
import type { TestContext } from "node:test";
import { createEngine, type Engine } from "sconce";

/** An engine, and how much memory its module has: that only grows. */
export async function measured(t: TestContext): Promise<[engine: Engine, heapBytes: () => number]> {
  const { mock } = t.mock.method(WebAssembly, "instantiate");
  const engine = await createEngine();
  const call = mock.calls[0]!;
  const { exports } = (await call.result) as unknown as WebAssembly.Instance;
  // A module with threads has its memory from its host.
  const imports = call.arguments[1]?.["env"] ?? {};
  const memory = [exports, imports]
    .flatMap(Object.values)
    .find((one) => one instanceof WebAssembly.Memory)!;
  mock.restore();
  return [engine, () => memory.buffer.byteLength];
}
