// A library for Emscripten's linker: the one import that the core itself declares, sc_panic's, for
// test programs built as wasm. A broken assumption is printed as it is natively.
addToLibrary({
  panic: (file, line, message) => {
    const text = (at) => Buffer.from(HEAPU8.subarray(at, HEAPU8.indexOf(0, at))).toString();
    process.stderr.write(`${text(file)}:${line}: broken assumption: ${text(message)}\n`);
    process.exit(134);
  },
});
