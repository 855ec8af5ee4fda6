// Coverage as the engine reports it: the library, the command, and the numbers in the README.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import { fileURLToPath } from "node:url";
import {
  coverageSentence,
  coverageWord,
  coveredOperators,
  createEngine,
  listedCount,
  operatorPattern,
  type Meta,
} from "sconce";
import { sconce } from "../setup/command.js";

const root = fileURLToPath(new URL("../../../..", import.meta.url));
let meta: Meta;
before(async () => {
  const engine = await createEngine();
  meta = engine.meta();
  engine.dispose();
});

test("numbers are those of the rows", () => {
  const rows = meta.ops.filter(({ pytorch }) => pytorch);
  const { operators, lowers, here, official, limited, missing } = meta.pytorch;
  const runs = (of: "here" | "official"): number => rows.filter((row) => row[of] !== "no").length;
  assert.equal(operators, rows.length + missing.length);
  assert.equal(here, runs("here"));
  assert.equal(official, runs("official"));
  assert.equal(lowers, rows.filter((row) => row.here !== "no" || row.official !== "no").length);
  assert.equal(limited, rows.filter((row) => row.limits.length > 0).length);
  assert.ok(limited < official && official < here && lowers < operators);
  for (const { name, here: us, official: them, lacks, limits, library, lowers } of meta.ops) {
    assert.equal(lowers, us !== "no" || them !== "no", name);
    assert.ok(library === "" || name.startsWith(`${library}::`), name);
    assert.equal(lacks === "", us !== "no" && them !== "no", name);
    assert.ok(limits.length === 0 || them !== "no", name);
  }
});

// Rows that the page leaves out: on a phone it has no column for this runtime.
test("all that lowers runs here", () => {
  assert.equal(meta.pytorch.here, meta.pytorch.lowers);
  for (const { name, lowers, here } of coveredOperators(meta))
    assert.equal(here !== "no", lowers, name);
  assert.match(coverageSentence(meta), /all of them run here/);
});

test("every operator is told of once", () => {
  const list = coveredOperators(meta);
  const names = list.map(({ name }) => name);
  assert.equal(new Set(names).size, names.length);
  const of = new Map(list.map((row) => [row.name, row]));
  assert.deepEqual(of.get("aten::mm"), {
    name: "aten::mm",
    here: "kernel",
    official: "kernel",
    lacks: "",
    limits: [],
    library: "",
    lowers: true,
  });
  assert.equal(of.get("aten::linear")!.here, "expanded");
  assert.equal(of.get("torchvision::nms")!.here, "kernel");
  assert.equal(of.get("transformers::grouped_mm_fallback")!.here, "kernel");
  assert.deepEqual(of.get("aten::polygamma")!.limits, ["up to the 150th derivative"]);
  assert.deepEqual(of.get("torchvision::roi_align")!.limits, [
    "a sampling_ratio of 1 to 64",
    "images of known size",
    "results of known size",
  ]);
  const missing = of.get(meta.pytorch.missing[0]!)!;
  assert.deepEqual([missing.lowers, missing.here, missing.official], [false, "no", "no"]);
});

test("operators of every library are listed", () => {
  const list = coveredOperators(meta).filter(({ library }) => library !== "");
  const libraries = [...new Set(list.map(({ library }) => library))];
  for (const library of ["quantized_decomposed", "torchao", "torchvision", "transformers"])
    assert.ok(libraries.includes(library), library);
  assert.deepEqual(
    list.map(({ name }) => name),
    meta.ops
      .filter(({ library }) => library !== "")
      .map(({ name }) => name)
      .sort(),
  );
});

test("one word says whether a runtime runs an operator", () => {
  const of = new Map(coveredOperators(meta).map((row) => [row.name, row]));
  for (const [name, here, official] of [
    ["aten::mm", "yes", "yes"],
    ["aten::linear", "yes", "yes"],
    ["aten::polygamma", "yes", "limited"],
    ["aten::igamma", "yes", "no"],
    [meta.pytorch.missing[0]!, "no", "no"],
  ] as const) {
    const row = of.get(name)!;
    assert.deepEqual([coverageWord(row, "here"), coverageWord(row, "official")], [here, official]);
  }
});

test("names are found as people write them", () => {
  for (const [text, pattern] of [
    ["torch.ops.aten.add_.Tensor", "aten::add.tensor"],
    ["aten::relu_", "aten::relu"],
    ["torch.ops.transformers.grouped_mm_fallback", "transformers::grouped_mm_fallback"],
    ["torch.ops.aten.mm.default", "aten::mm"],
    ["torch.linalg", "linalg"],
    ["_softmax", "_softmax"],
    [" Conv2d ", "conv2d"],
    ["torch.fft.fft", "fft_fft"],
    ["torchvision.ops.roi_align", "torchvision::roi_align"],
    ["torch.linalg.inv", "linalg_inv"],
    ["torch.special.x", "special_x"],
    ["torch.special", "special"],
    ["F.gelu", "gelu"],
    ["torch.nn.functional.gelu", "gelu"],
    ["torch.nn.GELU", "gelu"],
    ["torch.func.jvp", "jvp"],
    ["torch.Tensor.add_", "add"],
    ["x.add_", "add"],
    ["add.Tensor", "add.tensor"],
    ["torch.linalg.inv(x)", "linalg_inv"],
    ["torchao.quantize_affine", "torchao::quantize_affine"],
  ] as const)
    assert.equal(operatorPattern(text, meta), pattern);
});

test("what people write finds the operator", () => {
  const rows = coveredOperators(meta);
  for (const [text, name] of [
    ["torch.fft.fft", "aten::fft_fft"],
    ["torch.linalg.inv", "aten::linalg_inv"],
    ["F.gelu", "aten::gelu"],
    ["torch.nn.functional.gelu", "aten::gelu"],
    ["torch.Tensor.add_", "aten::add.Tensor"],
    ["x.add_", "aten::add.Tensor"],
  ] as const)
    assert.ok(
      rows.some(
        (row) => row.name === name && name.toLowerCase().includes(operatorPattern(text, meta)),
      ),
      text,
    );
});

test("lists are counted as the sentence counts", () => {
  const rows = coveredOperators(meta);
  const [own] = /\d+/.exec(listedCount(rows))!;
  assert.equal(Number(own), meta.pytorch.operators);
  assert.match(listedCount(rows), /^\d+ operators of PyTorch, \d+ of libraries$/);
  const [one] = rows.filter(({ name }) => name === "aten::mm");
  assert.equal(listedCount([one!]), "1 operator of PyTorch");
});

test("a name that nothing has fails, and a filter that leaves nothing says so", () => {
  const unknown = sconce("operators", "no_such_thing");
  assert.equal(unknown.status, 1);
  assert.match(unknown.stdout, /^No operator has 'no_such_thing' in its name/);
  assert.equal(sconce("operators", "no_such_thing", "--json").status, 1);
  const named = coveredOperators(meta).filter(({ name }) => name.includes("fft"));
  assert.ok(named.length > 0 && named.every(({ lacks }) => lacks === ""));
  const found = sconce("operators", "fft", "--lacking");
  assert.equal(found.status, 0);
  assert.match(
    found.stdout,
    new RegExp(`^Of ${named.length} operators with 'fft' in their names, none is lacking on a`),
  );
  assert.match(
    sconce("operators", "--lacking", "--limited").stdout,
    /^Of \d+ operators, none is lacking on a runtime and has a limit/,
  );
});

test("the README has the numbers of the table", () => {
  const readme = readFileSync(join(root, "README.md"), "utf8");
  const [operators, , lower, official, limited] = coverageSentence(meta).match(/[\d.]+/g)!;
  const reported = [
    `can leave ${operators} operators in a program. Sconce lowers and runs ${lower} of them.`,
    `The official runtime then runs ${official}, ${limited} of those within a limit.`,
  ];
  for (const sentence of reported)
    assert.ok(readme.includes(sentence), `the README should say: ${sentence}`);
});

test("the command tells the numbers, and operators by their names", () => {
  assert.equal(sconce("operators").stdout.trim(), coverageSentence(meta));
  const found = sconce("operators", "torch.ops.aten.mm.default").stdout;
  assert.match(found, /aten::mm +yes +yes +yes/);
  assert.match(sconce("operators", "no_such_thing").stdout, /^No operator has 'no_such_thing'/);
});

test("what is no operator is told of in a line, with the numbers of its table", () => {
  const { vmap, vmapSamples, jvp, float8 } = meta.features;
  for (const [asked, reported] of [
    ["vmap", new RegExp(`^torch\\.vmap .*: ${vmap} operators .* up to ${vmapSamples} of them`)],
    ["torch.vmap", /^torch\.vmap /],
    ["torch.func.jvp", new RegExp(`^torch\\.func\\.jvp .* ${jvp} operators`)],
    ["float8", new RegExp(`^Numbers in float8_e5m2, .* run here through ${float8} operators`)],
    ["torch.float8_e4m3fn", /^Numbers in float8_e5m2, float8_e4m3fn/],
  ] as const) {
    const { status, stdout } = sconce("operators", asked);
    assert.equal(status, 0, asked);
    const [line, sentence] = stdout.trimEnd().split("\n").slice(-2);
    assert.match(line!, reported);
    assert.equal(sentence, coverageSentence(meta));
    assert.doesNotMatch(stdout, /No operator/);
  }
  assert.doesNotMatch(sconce("operators", "mm").stdout, /vmap|jvp|float8/);
  assert.equal(sconce("operators", "torch.vmapped").status, 1);
});

test("the command gives JSON, and refuses two names", () => {
  const { pytorch, features, operators } = JSON.parse(
    sconce("operators", "--all", "--json").stdout,
  );
  assert.deepEqual(features, meta.features);
  assert.equal(operators.length, coveredOperators(meta).length);
  assert.equal(pytorch.operators, meta.pytorch.operators);
  const lacking = JSON.parse(sconce("operators", "igamma", "--lacking", "--json").stdout);
  assert.ok(lacking.operators.length > 0);
  for (const { name, lacks } of lacking.operators)
    assert.ok(name.includes("igamma") && lacks !== "");
  const limited = sconce("operators", "polygamma", "--limited").stdout;
  assert.match(limited, /aten::polygamma +yes +yes +limited +only up to the 150th derivative/);
  const conv = sconce("operators", "conv", "--limited").stdout;
  assert.match(conv, /only kernels of known depth in 3-D\n +and known strides, padding/);
  assert.doesNotMatch(conv, /aten::conv2d/);
  assert.deepEqual(JSON.parse(sconce("operators", "--json").stdout), {
    kind: "operators",
    pytorch,
    features,
    operators,
  });
  const found = JSON.parse(sconce("operators", "no_such_thing", "--json").stdout);
  assert.deepEqual(found, { kind: "operators", pytorch, features, operators: [] });
  assert.equal(sconce("operators", "mm", "add").status, 2);
});
