// Does tests/lint/prefixes.mjs find what it promises? Headers, and the prefixes that each lacks.
import { unexplained } from "./prefixes.mjs";

const three = "int sc_xa_a(void);\nint *sc_xa_b(void);\nstatic inline int sc_xa_c(int a) {\n}\n";
const cases = [
  [`// Rows.\n#ifndef A\n${three}`, ["sc_xa_"]],
  [`// Rows.\n// Prefix: sc_xa_ (XNNPACK, ahead of time).\n#ifndef A\n${three}`, []],
  [`// Rows.\n#ifndef A\n// Prefix: sc_xa_.\n${three}`, ["sc_xa_"]], // behind the head
  ["// Rows.\n#ifndef A\nint sc_xa_a(void);\nint sc_xa_b(void);\n", []], // too few
  ["// Rows.\n#ifndef A\nint f(int a);\n    return sc_xa_a(sc_xa_b(sc_xa_c(1)));\n", []], // uses
  ["// Rows.\n#ifndef A\nint sc_k_i32(int);\nint sc_k_i64(int);\nint sc_k_f32(int);\n", []],
];

let failed = 0;
for (const [text, expected] of cases) {
  const found = unexplained(text);
  if (found.join() === expected.join()) continue;
  console.log(`${found} instead of ${expected}: ${JSON.stringify(text)}`);
  failed++;
}
console.log(`prefixes: ${cases.length - failed} passed, ${failed} failed`);
process.exitCode = failed ? 1 : 0;
