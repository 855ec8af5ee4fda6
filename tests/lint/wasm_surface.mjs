// The module imports nothing but the rows of imports.def and exports exactly those of exports*.c:
// node tests/lint/wasm_surface.mjs SCONCE.WASM. Anything else means that Emscripten's or libc's
// needs leaked in, and the module would no longer start on hosts that give it only our functions.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { readRows } from "../../wasm/abigen.mjs";

const module = new WebAssembly.Module(readFileSync(process.argv[2]));
const rows = readRows({ isRun: /^run(-|\.)/.test(basename(process.argv[2])) });

// Modules with threads import their memory, and one function of Emscripten's that needs no work.
const isShared = WebAssembly.Module.imports(module).some((row) => row.kind === "memory");
const ofThreads = isShared ? ["env.memory", "env.__do_set_thread_state"] : [];
const allowed = [...rows.imports.map((row) => `sconce.${row.name}`), ...ofThreads];
for (const { module: from, name } of WebAssembly.Module.imports(module)) {
  assert.ok(allowed.includes(`${from}.${name}`), `the module imports ${from}.${name}`);
}
// Additions of the linker: the memory, the start-up function and the table of function pointers.
const added = ["memory", "_initialize", "__indirect_function_table"];
if (isShared) added.push("__set_thread_state", "_emscripten_wasm_worker_initialize");
const names = WebAssembly.Module.exports(module).map((row) => row.name);
assert.deepEqual(
  names.filter((name) => !added.includes(name)).sort(),
  rows.exports.map((row) => row.name).sort(),
);

// Memory grows on demand, past 2 GB, and a request that cannot be met gives NULL.
const host = Object.fromEntries(rows.imports.map((row) => [row.name, () => 0]));
host.panic = () => {
  throw new Error("panic");
};
const memory = new WebAssembly.Memory({ initial: 64, maximum: 65536, shared: true });
const env = { memory, __do_set_thread_state: () => 0 };
const { exports } = new WebAssembly.Instance(module, { sconce: host, env });
const raw = isShared ? { memory, ...exports } : exports;
raw._initialize?.();
const before = raw.memory.buffer.byteLength;
assert.ok(before <= 4 << 20, `starts with ${before} bytes`);
const gigabyte = 2 ** 30;
const blocks = [0, 0, 0].map(() => raw.memory_alloc(gigabyte) >>> 0);
assert.ok(blocks.every(Boolean));
new Uint8Array(raw.memory.buffer)[blocks[2] + gigabyte - 1] = 1;
assert.equal(raw.memory_alloc(gigabyte), 0);
blocks.forEach((block) => raw.memory_free(block));
assert.notEqual(raw.memory_alloc(1.75 * gigabyte), 0);

// Growing must not be a call to the host for every little block.
let growths = 0;
let size = raw.memory.buffer.byteLength;
for (let i = 0; i < 4000; i++) {
  assert.notEqual(raw.memory_alloc(2 ** 18), 0);
  if (raw.memory.buffer.byteLength !== size) growths++;
  size = raw.memory.buffer.byteLength;
}
assert.ok(growths < 100, `${growths} growths`);
