// Put ahead of the JS of a test program built as wasm. Emscripten knows imports from "env" only;
// the core's come from "sconce", which is made another name for it.
Module["instantiateWasm"] = (imports, receive) => {
  const bytes = require("node:fs").readFileSync(__filename.replace(/\.js$/, ".wasm"));
  const module = new WebAssembly.Module(bytes);
  const instance = new WebAssembly.Instance(module, { ...imports, sconce: imports["env"] });
  return receive(instance, module);
};
