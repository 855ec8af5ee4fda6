// Imported before a command: tells how much memory the engine's module took, which never shrinks, and
// how much the whole process did.
const instantiate = WebAssembly.instantiate.bind(WebAssembly);
const instances: WebAssembly.Instance[] = [];

WebAssembly.instantiate = (async (module: WebAssembly.Module, imports: WebAssembly.Imports) => {
  const instance = await instantiate(module, imports);
  instances.push(instance);
  return instance;
}) as typeof WebAssembly.instantiate;

process.on("exit", () => {
  const heaps = instances
    .flatMap(({ exports }) => Object.values(exports))
    .map((value) => (value instanceof WebAssembly.Memory ? value.buffer.byteLength : 0));
  const reported = { heap: Math.max(...heaps), process: process.resourceUsage().maxRSS * 1024 };
  process.stderr.write(`\nmemory ${JSON.stringify(reported)}\n`);
});
