// Does tests/lint/prefixes.mjs find what it promises? Headers, and the prefixes that each lacks.
import { repeated, unexplained } from "./prefixes.mjs";

const three = "int sc_xa_a(void);\nint *sc_xa_b(void);\nstatic inline int sc_xa_c(int a) {\n}\n";
const lacking = [
  [`// Rows.\n#ifndef A\n${three}`, ["sc_xa_"]],
  [`// Rows.\n// Prefix: sc_xa_ (XNNPACK, ahead of time).\n#ifndef A\n${three}`, []],
  [`// Rows.\n#ifndef A\n// Prefix: sc_xa_.\n${three}`, ["sc_xa_"]], // behind the head
  ["// Rows.\n#ifndef A\nint sc_xa_a(void);\nint sc_xa_b(void);\n", []], // too few
  ["// Rows.\n#ifndef A\nint f(int a);\n    return sc_xa_a(sc_xa_b(sc_xa_c(1)));\n", []], // uses
  ["// Rows.\n#ifndef A\nint sc_k_i32(int);\nint sc_k_i64(int);\nint sc_k_f32(int);\n", []],
];

// Prefix lines, and the number of clauses that only say the prefix again.
const lines = [
  ["Prefix: sc_zip_.", 1],
  ["Prefix: sc_zip_ reads and writes zip archives.", 0],
  ["Prefix: sc_job_, one job.", 1],
  ["Prefix: sc_rows_ is the rows.", 1],
  ["Prefix: sc_name_; sc_names_ is the table of them.", 1],
  ["Prefix: sc_xa_ (XNNPACK,\n// ahead of time).", 0],
  ["Prefixes: sc_a_ reads.\n//\n// Not sc_b_.", 0], // the next paragraph
  ["Zips. Prefix: sc_zip_.", 1], // on a line of its head
];

const cases = [
  ...lacking.map(([text, expected]) => [text, unexplained(text), expected]),
  ...lines.map(([line, n]) => {
    const text = `// Rows.\n// ${line}\n#ifndef A\n`;
    return [text, [repeated(text).length], [n]];
  }),
];

let failed = 0;
for (const [text, found, expected] of cases) {
  if (found.join() === expected.join()) continue;
  console.log(`${found} instead of ${expected}: ${JSON.stringify(text)}`);
  failed++;
}
console.log(`prefixes: ${cases.length - failed} passed, ${failed} failed`);
process.exitCode = failed ? 1 : 0;
