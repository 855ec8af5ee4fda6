// Does `npm run operator` find what the table has? Every operator of the native tool by its name, and
// the function behind every column that names one.
//   node operator.check.mjs SCONCE
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { adviceOf, find, near, operators, rowsOf, story } from "../../tools/operator/story.mjs";
import { rows } from "../../tools/operator/tables.mjs";
import { root } from "./tree.mjs";

const { ops } = JSON.parse(
  execFileSync(process.argv[2], ["meta"], { encoding: "utf8", maxBuffer: 1 << 24 }),
);
const sorted = (names) => [...names].sort();
assert.deepEqual(sorted(operators.map(({ name }) => name)), sorted(ops.map(({ name }) => name)));

// --- Functions -----------------------------------------------------------------------------------

// Columns of an operator's row that name a function, and what the function's name begins with.
const named = {
  INFER: "sc_infer_",
  EXPAND_FN: "sc_expand_",
  EXPAND_WHEN: "sc_expands_",
  KERNEL: "sc_k_",
  PRIM: "prim_",
};
for (const operator of operators) {
  const [row] = rowsOf(operator);
  const found = new Set(row.functions.map(({ name }) => name));
  for (const column of row.columns) {
    const [, macro, name] = /^(\w+)\((\w+)/.exec(column) ?? [];
    const whole = named[macro] && named[macro] + name;
    // Some functions are written by the macro of another table.
    const isMade = rows.some(({ keys }) => keys.has(whole));
    if (whole) assert.ok(found.has(whole) || isMade, `${operator.name}: ${column}`);
  }
}

// --- Names ---------------------------------------------------------------------------------------

const names = (given) => sorted(find(given).map(({ name }) => name));
assert.deepEqual(names("aten::cat"), ["aten::cat"]);
assert.deepEqual(names("cat.default"), ["aten::cat"]);
assert.deepEqual(names("add_Tensor"), ["aten::add.Tensor"]);
assert.deepEqual(names("add_.Tensor"), ["aten::add.Tensor"]);
assert.ok(names("add").includes("aten::add.Scalar"));
assert.deepEqual(names("sotfmax"), []);
assert.ok(near("sotfmax").includes("softmax"));
assert.match(adviceOf("poisson").hint, /outside of the model/);

// --- A whole story -------------------------------------------------------------------------------

const tables = (given) => rowsOf(find(given)[0]).map(({ table, kind }) => `${table} ${kind}`);
for (const row of [
  "src/ops/ops_pointwise.def OP",
  "src/kernels/pointwise.def PW_BIND",
  "src/kernels/pointwise.def PW_SAME",
  "src/backends/xnnpack/aot/configs.def CONFIG",
  "src/backends/xnnpack/nodes.def NODE",
])
  assert.ok(tables("add.Tensor").includes(row), row);
assert.ok(story(find("cat")[0]).uses.texts.some(({ id }) => id === "concat"));
const cases = story(find("cat")[0]).tests.find(({ file }) => file === "tests/decompose/kept.ir");
assert.ok(cases.cases.includes("hstack"));

const run = (...args) =>
  execFileSync(process.execPath, ["tools/operator.mjs", ...args], { cwd: root, encoding: "utf8" });
assert.match(run("cat"), /^aten::cat\(Tensor\[\] tensors/);
assert.equal(JSON.parse(run("cat", "--json"))[0].id, "cat");
console.log(`operator: ${operators.length} operators`);
