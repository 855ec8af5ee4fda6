// --json: one document on the standard output for each command, for errors too; the exit code is the
// one without it.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { ErrorJson } from "sconce";
import { cli, folder, sconce, type Result } from "../setup/command.js";
import { modelPath } from "../setup/reference.js";

/** An error of the library, or of the command line, with the file that it is about. */
type Failure = Omit<ErrorJson, "code" | "name"> & { code: string; file: string };
interface Document {
  kind: string;
  error?: Failure;
  errors?: Failure[];
  [key: string]: unknown;
}

/** The only document that a command prints. */
function reported({ stdout }: Result): Document {
  return JSON.parse(stdout) as Document;
}

function json(status: number, ...args: string[]): Document {
  const result = sconce(...args, "--json");
  assert.equal(result.status, status, result.stderr);
  return reported(result);
}

const mlp = modelPath("mlp.pt2");
sconce("lower", mlp, "-o", "mlp.pte");

test("lower tells every program that it wrote, and what became of the others", () => {
  const { kind, programs, error } = json(0, "lower", mlp, "-o", "a.pte", "--external-constants");
  const [program] = programs as Record<string, unknown>[];
  assert.deepEqual([kind, error], ["lower", undefined]);
  assert.deepEqual(program!["inputs"], [mlp]);
  assert.equal(program!["output"], "a.pte");
  assert.equal(program!["bytes"], readFileSync(join(folder, "a.pte")).length);
  const data = [{ path: "a.ptd", bytes: readFileSync(join(folder, "a.ptd")).length }];
  assert.deepEqual(program!["dataFiles"], data);
  assert.deepEqual(program!["methods"], ["forward"]);
  const several = json(1, "lower", mlp, "missing.pt2", "-o", "several/");
  assert.equal((several["programs"] as unknown[]).length, 1);
  assert.equal(several.errors!.length, 1);
  assert.equal(several.error!.file, "missing.pt2");
  assert.equal(several.error!.code, "io");
});

test("an error has the code, the hint and the place that its text has", () => {
  const custom = modelPath("../import/custom.pt2");
  const { error } = json(1, "lower", custom, "-o", "custom.pte");
  const { code, method, op, source, file, hint, diagnostics } = error!;
  assert.deepEqual([code, method, op, file], ["unsupported_op", "forward", "my::two", custom]);
  assert.match(source, /^model\.py:1 in forward: /);
  assert.notEqual(hint, "");
  assert.ok(diagnostics.some((d) => d.severity === "error" && d.code === "unsupported_op"));
});

test("wrong usage is an error of the code usage, also where flags cannot be read", () => {
  for (const args of [
    ["lower", mlp],
    ["run", "mlp.pte", "--inptu", "ones"],
    ["inspect"],
    ["bundle", "mlp.pte"],
    ["export", mlp, "-o", "x.pte", "--recipe", "nope"],
    ["operators", "a", "b"],
    ["studio", "--port", "web"],
    ["lwoer", mlp],
  ]) {
    const { error } = json(2, ...args);
    assert.equal(error!.code, "usage", args.join(" "));
    assert.notEqual(error!.message, "");
  }
});

test("commands that fail say why in JSON", () => {
  writeFileSync(join(folder, "note.txt"), "no model");
  writeFileSync(join(folder, "none.json"), "[]");
  for (const [args, code] of [
    [["run", "missing.pte", "--input", "ones"], "io"],
    [["run", mlp, "--input", "ones"], "format"],
    [["run", "mlp.pte"], "input"],
    [["inspect", "note.txt"], "format"],
    [["export", "note.txt", "--recipe", "portable", "-o", "x.pte"], "format"],
    [["bundle", "mlp.pte", "--calls", "none.json", "-o", "x.bpte"], "format"],
  ] as const) {
    const { error } = json(1, ...args);
    assert.equal(error!.code, code, args.join(" "));
  }
});

interface Output {
  name: string;
  kind: string;
  dtype: string;
  shape: number[];
  data: unknown;
  statistics: { min: unknown; max: unknown; mean: number; nan: number };
  file?: string;
}
interface Call {
  method: string;
  milliseconds: number[];
  outputs: Output[];
}
const callsOf = (document: Document): Call[] => document["calls"] as Call[];

test("run prints what the outputs are, and where they went", () => {
  const document = json(0, "run", "mlp.pte", "--input", "random:1", "--out", "to", "--repeat", "3");
  const [call] = callsOf(document);
  assert.deepEqual([call!.method, call!.milliseconds.length], ["forward", 3]);
  const [output] = call!.outputs;
  const { name, kind, dtype, shape, file, statistics } = output!;
  const data = output!.data as number[];
  assert.deepEqual([name, kind, dtype, file], ["output_0", "tensor", "float32", "to/output_0.npy"]);
  assert.equal(
    data.length,
    shape.reduce((a, b) => a * b),
  );
  const written = readFileSync(join(folder, "to/output_0.npy"));
  const floats = new Float32Array(new Uint8Array(written.subarray(-4 * data.length)).buffer);
  assert.deepEqual(data, Array.from(floats));
  assert.deepEqual([statistics.min, statistics.max], [Math.min(...data), Math.max(...data)]);
});

test("integers of 64 bits are text, truth is true or false, and nothing is no number", async () => {
  const { jsonOutputs } = (await import(
    new URL("../../../../dist/cli/run/json.js", import.meta.url).href
  )) as {
    jsonOutputs(
      outputs: unknown[],
      info: { outputs: { kind: string }[] },
      folder?: string,
    ): Output[];
  };
  const { jsonText } = (await import(
    new URL("../../../../dist/cli/print/json.js", import.meta.url).href
  )) as {
    jsonText(document: object): string;
  };
  const made = (dtype: string, data: unknown, shape: number[]): unknown => {
    const outputs = jsonOutputs([{ dtype, shape, data }], { outputs: [{ kind: "tensor" }] });
    return (JSON.parse(jsonText(outputs)) as Output[])[0]!.data;
  };
  assert.deepEqual(made("int64", BigInt64Array.of(9007199254740993n, -1n), [2]), [
    "9007199254740993",
    "-1",
  ]);
  assert.deepEqual(made("bool", Uint8Array.of(1, 0), [2]), [true, false]);
  const odd = Float32Array.of(NaN, Infinity, -Infinity, 0.5);
  assert.deepEqual(made("float32", odd, [4]), ["NaN", "Infinity", "-Infinity", 0.5]);
  assert.deepEqual(made("float16", Uint16Array.of(0x3c00, 0x0001), [2]), [1, 2 ** -24]);
  const complex = Float32Array.of(1, 2, 3, -4);
  assert.deepEqual(made("complex64", complex, [2]), [
    [1, 2],
    [3, -4],
  ]);
  const codes = Uint8Array.of(0x38, 0x7e, 0x7f, 0x01, 0x80);
  assert.deepEqual(made("float8_e4m3fn", codes, [5]), [1, 448, "NaN", 2 ** -9, 0]);
  assert.deepEqual(made("float8_e5m2", Uint8Array.of(0x3c, 0x7b, 0x7c, 0xfd), [4]), [
    1,
    57344,
    "Infinity",
    "NaN",
  ]);
  assert.deepEqual(made("float8_e4m3fnuz", Uint8Array.of(0x40, 0x7f, 0x80), [3]), [1, 240, "NaN"]);
  const scalars = jsonOutputs([7, 0.5, true, "text", null], {
    outputs: ["int", "double", "bool", "string", "none"].map((kind) => ({ kind })),
  });
  assert.deepEqual(
    scalars.map(({ data }) => data),
    ["7", 0.5, true, "text", null],
  );
  const large = { dtype: "uint8", shape: [2 ** 23], data: new Uint8Array(2 ** 23) };
  const info = { outputs: [{ kind: "tensor" }] };
  assert.throws(() => jsonOutputs([large], info), { code: "limit" });
  const [inFile] = jsonOutputs([large], info, "to");
  assert.deepEqual([inFile!.data, inFile!.file], [null, "to/output_0.npy"]);
});

test("export, its recipes, bundle, verify, inspect and operators print theirs", () => {
  const exported = json(0, "export", mlp, "--recipe", "xnnpack_fp32", "-o", "fp32.pte");
  assert.deepEqual([exported.kind, exported["methods"]], ["export", ["forward"]]);
  assert.equal((exported["report"] as { recipe: string }).recipe, "xnnpack_fp32");
  const { recipes } = json(0, "export", "--list-recipes") as unknown as {
    recipes: { name: string; description: string }[];
  };
  assert.ok(recipes.some(({ name }) => name === "xnnpack_fp32"));
  writeFileSync(join(folder, "calls.json"), JSON.stringify([{ inputs: ["random:1"] }]));
  const bundled = json(0, "bundle", "mlp.pte", "--calls", "calls.json", "-o", "mlp.bpte");
  assert.deepEqual(bundled["methods"], [{ method: "forward", cases: 1 }]);
  const verified = json(0, "run", "mlp.bpte", "--verify");
  assert.deepEqual([verified.kind, verified["isRight"]], ["verify", true]);
  assert.equal(json(0, "inspect", "mlp.bpte").kind, "bpte");
  assert.equal(json(0, "operators", "linalg_det").kind, "operators");
});

test("the studio prints where it is, and goes on", async () => {
  const child = spawn(process.execPath, [cli, "studio", "--port", "0", "--json"], { cwd: folder });
  let text = "";
  const document = await new Promise<Document>((resolve, reject) => {
    child.stdout.on("data", (chunk: Buffer) => {
      text += chunk.toString();
      if (text.endsWith("}\n")) resolve(JSON.parse(text) as Document);
    });
    child.on("exit", () => reject(new Error("it ended")));
  });
  assert.equal(document.kind, "studio");
  const page = await fetch(document["url"] as string);
  assert.equal(page.status, 200);
  await page.text();
  child.removeAllListeners("exit");
  child.kill("SIGTERM");
});
