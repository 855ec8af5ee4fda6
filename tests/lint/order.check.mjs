// Does tests/lint/order.mjs find what it promises? Bodies of functions, and how many lines of each
// it must name.
import { recorders, unordered } from "./order.mjs";
import { listFiles } from "./tree.mjs";

const cases = [
  ["return CALL(t, add_Tensor, CALL(t, neg, x), CALL(t, abs, x));", 1],
  ["return sc_f_mul(t, sc_f_add_number(t, x, 1), y);", 0],
  ["sc_x both[2] = {CALL(t, neg, x), CALL(t, abs, x)};", 1],
  ["sc_x a = CALL(t, neg, x), b = CALL(t, abs, x);", 0],
  ["return by_way(t, by_way(t, x), by_way(t, x));", 1],
  ["return CALL(t, add_Tensor, s->step(t, x), sc_f_add_number(t, x, 1));", 1],
  ["return CALL(t, add_Tensor, x, sc_x_int(t, 1)); // CALL(t, neg, x), CALL(t, abs, x)", 0],
  ["return is ? CALL(t, neg, x) : CALL(t, abs, x);", 0],
  ['say("{CALL(t, neg, x), CALL(t, abs, x)}");', 0],
  ["return both(emit2(e, one, two), emit(e, three));", 1], // of src/passes/sym_prims.c
  ["for (int i = 0; i < 2; i++) x = CALL(t, neg, x);\n    return f(x, CALL(t, abs, x));", 0],
];

const files = listFiles().filter((name) => /^src\/(trace|passes)\/.*\.[ch]$/.test(name));
const recording = recorders(files);
const names = new Set([
  ...recording.get("src/trace/official/factor.c"),
  ...recording.get("src/passes/sym_prims.c"),
]);
names.add("by_way");
let failed = 0;
for (const [body, expected] of cases) {
  const found = unordered(`static sc_x f(sc_trace *t, sc_x x) {\n    ${body}\n}\n`, names).length;
  if (found === expected) continue;
  console.log(`${found} lines instead of ${expected}: ${body}`);
  failed++;
}
console.log(`order: ${cases.length - failed} passed, ${failed} failed`);
process.exitCode = failed ? 1 : 0;
