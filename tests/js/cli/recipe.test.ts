// sconce export with recipes of files, stages, and compile specs.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { folder, sconce, type Result } from "../setup/command.js";
import { modelPath } from "../setup/reference.js";

const mlp = modelPath("mlp.pt2");
const at = (name: string): string => join(folder, name);
const read = (name: string): Buffer => readFileSync(at(name));
const write = (name: string, text: string): string => {
  writeFileSync(at(name), text);
  return name;
};
const exported = (output: string, ...flags: string[]): Result =>
  sconce("export", mlp, "-o", output, ...flags);

function works({ status, stderr }: Result): void {
  assert.equal(stderr, "");
  assert.equal(status, 0);
}

function refused({ status, stderr }: Result, code: number, text: RegExp): void {
  assert.match(stderr, text);
  assert.equal(status, code);
}

test("a recipe comes from a file of JSON, or from a module", () => {
  works(exported("named.pte", "--recipe", "xnnpack_fp32"));
  const recipe = { loweringRecipe: { partitioners: ["xnnpack"] } };
  works(exported("json.pte", "--recipe", write("recipe.json", JSON.stringify(recipe))));
  const text = "export default { loweringRecipe: { partitioners: [{ backend: 'xnnpack' }] } };";
  works(exported("module.pte", "--recipe", write("recipe.mjs", text)));
  assert.deepEqual(read("json.pte"), read("named.pte"));
  assert.deepEqual(read("module.pte"), read("named.pte"));
});

test("functions of a module are asked, and passes of --import are found by name", () => {
  const siluForGelu =
    "function siluForGelu({ graph }) { for (const node of graph.find('aten::gelu')) {" +
    "const silu = graph.insertBefore(node, 'aten::silu', [node.args[0]]);" +
    "node.replaceAllUsesWith(silu); graph.erase(node); } }";
  const own = `${siluForGelu} export default { atenTransformPasses: [() => [siluForGelu]] };`;
  works(exported("own.pte", "--recipe", write("own.mjs", own)));
  const named = write("named.json", JSON.stringify({ atenTransformPasses: [["siluForGelu"]] }));
  const module = write("passes.mjs", `export ${siluForGelu}`);
  works(exported("names.pte", "--recipe", named, "--import", module));
  assert.deepEqual(read("names.pte"), read("own.pte"));
  works(exported("plain.pte", "--recipe", "portable"));
  assert.notDeepEqual(read("plain.pte"), read("own.pte"));
});

test("files and names are combined", () => {
  const config = { executorchBackendConfig: { memoryPlanning: "naive" } };
  const file = write("naive.json", JSON.stringify(config));
  works(exported("both.pte", "--recipe", "xnnpack_fp32", "--recipe", file));
  works(exported("flag.pte", "--recipe", "xnnpack_fp32", "--memory-planning", "naive"));
  assert.deepEqual(read("both.pte"), read("flag.pte"));
});

test("--stages runs these stages", () => {
  const stages = "to_edge,to_backend,to_executorch";
  works(exported("staged.pte", "--recipe", "xnnpack_fp32", "--stages", stages));
  const { stdout } = sconce("inspect", "staged.pte");
  assert.match(stdout, /XnnpackBackend/);
  refused(
    exported("x.pte", "--recipe", "xnnpack_fp32", "--stages", "to_edge,to_executorch"),
    1,
    /stage to_executorch cannot follow to_edge/,
  );
  refused(
    exported(
      "x.pte",
      ...["--recipe", "xnnpack_fp32"],
      ...["--stages", "to_edge,edge_program_manager_transform,to_executorch"],
    ),
    1,
    /'loweringRecipe.partitioners', but none of the stages carries it out/,
  );
  refused(exported("x.pte", "--recipe", "portable", "--stages", "to_edge,,x"), 2, /commas/);
});

test("--compile-spec reaches the backends of the recipe", () => {
  const backend =
    "export default { id: 'Echo', supports: () => true, init: () => null, execute: (_, x) => x," +
    "preprocess: (_, specs) => ({ processedBytes: new TextEncoder().encode(" +
    "specs.map(({ key, value }) => `${key}:${new TextDecoder().decode(value)}`).join()) }) };";
  const recipe = {
    loweringRecipe: {
      partitioners: { forward: { backend: "Echo", compileSpecs: [{ key: "own", value: "1" }] } },
    },
  };
  works(
    exported(
      "specs.pte",
      ...[
        "--import",
        write("echo.mjs", backend),
        "--recipe",
        write("echo.json", JSON.stringify(recipe)),
      ],
      ...["--compile-spec", "mode=fast", "--compile-spec", "path=a=b"],
    ),
  );
  assert.ok(read("specs.pte").includes("own:1,mode:fast,path:a=b"));
  refused(
    exported("x.pte", "--recipe", "portable", "--compile-spec", "a=b"),
    2,
    /--compile-spec is for recipes with a backend/,
  );
  refused(exported("x.pte", "--recipe", "xnnpack_fp32", "--compile-spec", "a"), 2, /NAME=VALUE/);
  const own = "export default { loweringRecipe: { partitioners: () => ({ tags: [] }) } };";
  refused(
    exported("x.pte", "--recipe", write("tags.mjs", own), "--compile-spec", "a=b"),
    2,
    /a partitioner of the recipe is a function/,
  );
});

test("files that are no recipe are wrong usage", () => {
  for (const [file, text, complaint] of [
    ["bad.json", "{", /--recipe bad.json cannot be read/],
    ["list.json", "[]", /the recipe of list.json/],
    ["field.json", '{"quantisationRecipe": {}}', /has no option 'quantisationRecipe'/],
    ["empty.mjs", "export const recipe = {};", /--recipe empty.mjs has no default export/],
    ["broken.mjs", "throw new Error('mine')", /cannot be imported: mine/],
  ] as const)
    refused(exported("x.pte", "--recipe", write(file, text)), 2, complaint);
  refused(exported("x.pte", "--recipe", "absent.json"), 2, /--recipe absent.json cannot be read/);
  const mine = write("mine.json", "{}");
  refused(exported("mine.json", "--recipe", mine), 2, /mine.json/);
});
