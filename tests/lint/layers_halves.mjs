// The two halves of src/, the compiler and the runtime: rows of tests/lint/layers.mjs, each with all
// rows below it. No row but that of api may reach both.
export const halves = {
  compiler: [
    "pt2",
    "ir",
    "trace",
    "passes",
    "plan",
    "emit",
    "quant",
    "backend",
    "devtools/etrecord",
    "backends/null/aot",
    "backends/host/aot",
    "backends/xnnpack/aot",
  ],
  runtime: [
    "compute",
    "kernels",
    "rt",
    "devtools/etdump",
    "backends/null/run",
    "backends/host/run",
    "backends/xnnpack/run",
  ],
};
