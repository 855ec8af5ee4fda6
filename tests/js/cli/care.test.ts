// The command where care matters: files that were there before, and values that must not change on
// their way in or out.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { tensor, type Tensor } from "sconce";
import { cli, folder, node, sconce, type Result } from "../setup/command.js";
import { modelPath } from "../setup/reference.js";
import { edited } from "../setup/zip.js";

// --- Files stay, unless all went well ----------------------------------------------------------------

/** Runs the command after a change of node:fs, such as a disk that refuses; `fs` is the module. */
function withFiles(change: string, ...args: string[]): Result {
  const code = `import fs from "node:fs"; import { syncBuiltinESMExports } from "node:module";
    ${change}; syncBuiltinESMExports();`;
  return node("--import", `data:text/javascript,${encodeURIComponent(code)}`, cli, ...args);
}

const textOf = (name: string): string => readFileSync(join(folder, name), "latin1");
const put = (name: string, text: string): void => writeFileSync(join(folder, name), text);
const temporaries = (): string[] => readdirSync(folder).filter((name) => name.endsWith(".tmp"));

test("what is not a regular file is neither replaced nor waited for", () => {
  sconce("lower", modelPath("linear.pt2"), "-o", "linear.pte");
  mkdirSync(join(folder, "pipes"));
  for (const name of ["x.pte", "output_0.npy"])
    assert.equal(spawnSync("mkfifo", [join(folder, "pipes", name)]).status, 0);
  const isPipe = (name: string): boolean => statSync(join(folder, "pipes", name)).isFIFO();
  const lowered = sconce("lower", modelPath("linear.pt2"), "-o", "pipes/x.pte");
  assert.equal(lowered.status, 1);
  assert.match(
    lowered.stderr,
    /cannot write pipes\/x\.pte: it exists and is not a regular file\n +N/,
  );
  assert.equal(sconce("run", "linear.pte", "--input", "ones", "--out", "pipes").status, 1);
  assert.ok(isPipe("x.pte") && isPipe("output_0.npy"));
  for (const args of [
    ["lower", "pipes/x.pte", "-o", "y.pte"],
    ["inspect", "pipes/x.pte"],
    ["run", "pipes/x.pte"],
    ["run", "linear.pte", "--input", "pipes/output_0.npy"],
    ["run", "linear.pte", "--calls", "pipes/output_0.npy"],
  ]) {
    const { status, signal, stderr } = sconce(...args);
    assert.deepEqual([status, signal], [1, null], args.join(" "));
    assert.match(stderr, /pipes\/\S+ is not a file/);
  }
});

test("no input is overwritten, whatever name the output has", () => {
  const bytes = readFileSync(modelPath("linear.pt2"));
  for (const name of ["real.pt2", "data.ptd"]) writeFileSync(join(folder, name), bytes);
  symlinkSync("real.pt2", join(folder, "link.pt2"));
  symlinkSync(".", join(folder, "here"));
  for (const args of [
    ["lower", "link.pt2", "-o", "real.pt2"],
    ["lower", "real.pt2", "-o", "link.pt2"],
    ["lower", "here/real.pt2", "-o", "real.pt2"],
    ["lower", "--method", `a=${modelPath("mlp.pt2")}`, "--method", "b=link.pt2", "-o", "real.pt2"],
    ["lower", "data.ptd", "-o", "data.pte", "--external-constants"],
    ["lower", "--method", "m=data.ptd", "-o", "data.pte", "--external-constants"],
  ]) {
    const { status, stderr } = sconce(...args);
    assert.equal(status, 2, args.join(" "));
    assert.match(stderr, /would be overwritten: name another output/);
  }
  for (const name of ["real.pt2", "data.ptd"])
    assert.deepEqual(readFileSync(join(folder, name)), bytes);
  assert.ok(!existsSync(join(folder, "data.pte")));
  // A program that has the name of a result.
  sconce("lower", modelPath("linear.pt2"), "-o", "output_0.npy");
  const program = textOf("output_0.npy");
  assert.equal(sconce("run", "output_0.npy", "--input", "ones", "--out", "here").status, 2);
  assert.equal(textOf("output_0.npy"), program);
});

test("an output that is a link is written where it points", () => {
  put("pointed.pte", "old");
  symlinkSync("pointed.pte", join(folder, "pointer.pte"));
  assert.equal(sconce("lower", modelPath("linear.pt2"), "-o", "pointer.pte").status, 0);
  assert.ok(lstatSync(join(folder, "pointer.pte")).isSymbolicLink());
  assert.equal(textOf("pointed.pte").slice(4, 8), "ET12");
});

test("results of an earlier run outlive calls that fail, and later calls read new ones", () => {
  sconce("lower", modelPath("counter_buffer.pt2"), "-o", "counter.pte");
  const run = (...calls: object[]): Result => {
    put("kept.json", JSON.stringify(calls));
    return sconce("run", "counter.pte", "--calls", "kept.json");
  };
  const ones = { inputs: ["ones"], out: "kept" };
  assert.equal(run(ones).status, 0);
  const earlier = textOf("kept/output_0.npy");
  assert.equal(run({ inputs: ["random:1"], out: "kept" }, { inputs: ["no.npy"] }).status, 1);
  assert.equal(textOf("kept/output_0.npy"), earlier);
  assert.equal(run(ones, { inputs: ["fresh/output_0.npy"] }).status, 1);
  const fresh = { inputs: ["ones"], out: "fresh" };
  const chained = run(fresh, { inputs: ["fresh/output_0.npy"], out: "next" });
  assert.equal(chained.status, 0, chained.stderr);
  assert.ok(existsSync(join(folder, "next/output_0.npy")));
});

test("a pair of .pte and .ptd is replaced as a pair or not at all", () => {
  put("pair.pte", "old program");
  put("pair.ptd", "old weights");
  const refuse = `const { openSync } = fs; fs.openSync = (path, ...rest) => {
    if (/[.]pte[.].*tmp/.test(path)) throw new Error("EACCES: permission denied, open");
    return openSync(path, ...rest);
  }`;
  const args = ["lower", modelPath("mlp.pt2"), "--external-constants", "-o", "pair.pte"];
  const { status, stderr } = withFiles(refuse, ...args);
  assert.equal(status, 1);
  assert.match(stderr, /cannot write pair\.pte: EACCES: permission denied/);
  assert.deepEqual([textOf("pair.pte"), textOf("pair.ptd")], ["old program", "old weights"]);
  assert.deepEqual(temporaries(), []);
});

test("a signal while files are written leaves no temporary one", () => {
  for (const [signal, code] of [
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ] as const) {
    put("stopped.pte", "old program");
    const send = `const { writeSync } = fs; fs.writeSync = (...args) => {
      process.kill(process.pid, "${signal}");
      return writeSync(...args);
    }`;
    const args = ["lower", modelPath("mlp.pt2"), "--external-constants", "-o", "stopped.pte"];
    assert.equal(withFiles(send, ...args).status, code);
    assert.equal(textOf("stopped.pte"), "old program");
    assert.deepEqual(temporaries(), []);
  }
});

test("a folder in which nothing came to be goes again", () => {
  assert.equal(sconce("lower", "no1.pt2", "no2.pt2", "-o", "new/below/").status, 1);
  assert.ok(!existsSync(join(folder, "new")));
});

// --- Arguments ------------------------------------------------------------------------

test("calls that are not understood are named by index and key", () => {
  sconce("lower", modelPath("linear.pt2"), "-o", "linear.pte");
  for (const [call, message] of [
    [
      { metod: "forward" },
      /option: call 1 of bad\.json has no option 'metod'\n +Did you mean 'method'/,
    ],
    [{ outs: "x" }, /option: call 1 of bad\.json has no option 'outs'\n +Did you mean 'out'/],
    [{ inputs: { x: ["ones"] } }, /argument: inputs\[x\] of call 1 of bad\.json must be text/],
    [{ inputs: "o" }, /option: 'inputs' of call 1 of .* must be a list, or .*, not the string "o"/],
    [{ inputs: ["ones"], out: 5 }, /option: 'out' of call 1 of .* must be a name.*, not 5/],
    [{ inputs: ["ones"], out: "" }, /option: 'out' of call 1 of /],
    [{ method: 7 }, /option: 'method' of call 1 of /],
    [{ inputs: [[1, 2]] }, /argument: inputs\[0\] of call 1 of bad\.json must be text, a number/],
    [{ inputs: [{ number: "1" }] }, /argument: inputs\[0\] of call 1 of bad\.json must be text/],
    [["ones"], /argument: call 1 of bad\.json must be an object/],
    [null, /argument: call 1 of bad\.json must be an object/],
  ] as const) {
    put("bad.json", JSON.stringify([{ inputs: ["ones"], out: "early" }, call]));
    const { status, stdout, stderr } = sconce("run", "linear.pte", "--calls", "bad.json");
    assert.deepEqual([status, stdout], [1, ""]);
    assert.match(stderr, message);
  }
  assert.ok(!existsSync(join(folder, "early")));
});

interface Values {
  parseInput(text: string, info: object, index: number, read: () => never): Tensor | bigint;
  describe(value: Tensor): string;
}
const readEmpty = (): never => assert.fail("no file is read");
const loadValues = async (): Promise<Values> =>
  (await import(new URL("../../../../dist/cli/files/values.js", import.meta.url).href)) as Values;
const BYTES = { bool: 1, uint8: 1, int8: 1, int32: 4, int64: 8, uint64: 8, float16: 2, float32: 4 };

test("numbers arrive exactly or are refused", async () => {
  const { parseInput, describe } = await loadValues();
  const parse = (text: string, dtype: keyof typeof BYTES): string => {
    const info = { kind: "tensor", dtype, shape: [], bytes: BYTES[dtype] };
    return describe(parseInput(text, info, 0, readEmpty) as Tensor);
  };
  for (const [text, dtype, value] of [
    ["9007199254740993", "int64", "9007199254740993"],
    ["-9223372036854775808", "int64", "-9223372036854775808"],
    ["18446744073709551615", "uint64", "18446744073709551615"],
    ["+5", "int32", "5"],
    ["7.0", "int32", "7"],
    ["1e3", "int64", "1000"],
    ["255", "uint8", "255"],
    ["-128", "int8", "-128"],
    ["true", "bool", "1"],
    ["0", "bool", "0"],
    ["3.5", "float32", "3.5"],
    ["-inf", "float16", "-Infinity"],
    ["nan", "float16", "NaN"],
    ["65504", "float16", "65504"],
  ] as const)
    assert.equal(parse(text, dtype), `${dtype} [] ${value}`, text);
  for (const [text, dtype, why] of [
    ["99999999999999999999999", "int64", /input 0: 9+ is out of the range of int64/],
    ["9".repeat(100_000), "int64", /^input 0: 9{40}\.\.\. is out of the range of int64$/],
    ["9223372036854775808", "int64", /out of the range/],
    ["1e30", "int64", /out of the range/],
    ["3.5", "int64", /3\.5 is not of type int64/],
    ["nan", "int64", /nan is not of type int64/],
    ["3.7", "int32", /3\.7 is not of type int32/],
    ["4294967297", "int32", /4294967297 is out of the range of int32/],
    ["300", "uint8", /300 is out of the range of uint8/],
    ["-1", "uint64", /-1 is out of the range of uint64/],
    ["256", "bool", /256 is out of the range of bool/],
    ["70000", "float16", /70000 is out of the range of float16/],
    ["1e39", "float32", /1e39 is out of the range of float32/],
  ] as const)
    assert.throws(() => parse(text, dtype), { code: "input", message: why }, text);
  const int = { kind: "int" };
  assert.equal(parseInput("9007199254740993", int, 0, readEmpty), 9007199254740993n);
  assert.throws(() => parseInput("9".repeat(99), int, 0, readEmpty), { code: "input" });
});

test("numbers of a file of calls keep their digits", async () => {
  const { readCalls } = (await import(
    new URL("../../../../dist/cli/files/calls.js", import.meta.url).href
  )) as { readCalls(path: string): { inputs: unknown[] }[] };
  put("digits.json", '[{"inputs": [9007199254740993, -1.50, "12", "a\\"1", true, null]}, {}]');
  assert.deepEqual(readCalls(join(folder, "digits.json")), [
    { inputs: [{ number: "9007199254740993" }, { number: "-1.50" }, "12", 'a"1', true, null] },
    { inputs: [] },
  ]);
});

test("integers are printed with all digits", async () => {
  const { describe } = await loadValues();
  const values = BigInt64Array.of(9007199254740993n, -1n);
  assert.equal(describe(tensor(values)), "int64 [2] 9007199254740993 -1");
  assert.equal(describe(tensor(Int32Array.of(1234567))), "int32 [1] 1234567");
  assert.equal(describe(tensor(Float32Array.of(0.1))), "float32 [1] 0.1");
  assert.equal(
    describe(tensor(Int32Array.from({ length: 9 }, (_, i) => 1234567 + i))),
    "int32 [9] min 1234567 max 1234575 mean 1.23457e+6",
  );
  assert.match(
    describe(tensor(Float32Array.of(NaN, 1, 2, 3, 4, 5, 6, 7, 8))),
    /min 1 max 8 mean 4\.50000, 1 NaN$/,
  );
});

test("a reader that leaves early is not an error", () => {
  const command = `"${process.execPath}" "${cli}" inspect "${modelPath("mlp.pt2")}"`;
  const script = `{ ${command} --json; echo "$?" >&2; } | true`;
  const { stderr } = spawnSync("sh", ["-c", script], { encoding: "utf8", timeout: 20_000 });
  assert.equal(stderr, "0\n");
});

test("of several methods the file at fault is named", () => {
  put("short.pt2", readFileSync(modelPath("mlp.pt2")).subarray(0, 3000).toString("latin1"));
  const methods = ["--method", `a=${modelPath("linear.pt2")}`, "--method", "b=short.pt2"];
  const { status, stderr } = sconce("lower", ...methods, "-o", "no.pte");
  assert.equal(status, 1);
  assert.match(stderr, /^short\.pt2: truncated: .* \(method b\)$/m);
  assert.doesNotMatch(stderr, /linear/);
});

test("no text of a file is obeyed by the terminal", () => {
  const [clear, c1, rest] = ["\\u001b[2J", "\\u009b31m", "\\u007f\\r\\u202e"];
  const hostile = edited("../import/custom.pt2", (text) =>
    text
      .replaceAll('"x"', `"x${c1}${rest}"`)
      .replaceAll("my.two", `my${clear}.two`)
      .replace("in forward\\n", `in forward${clear}\\n    a${clear}\\n`),
  );
  writeFileSync(join(folder, "hostile.pt2"), hostile);
  const evil = "m\x1b[2J\nn";
  const seen = ([stream, text]: [string, Result], ...parts: string[]): void => {
    const printed = stream === "out" ? text.stdout : text.stderr;
    assert.doesNotMatch(text.stdout + text.stderr, /[^\P{Cc}\n]|\u202e/u);
    for (const part of parts) assert.ok(printed.includes(part), `${part} in ${printed}`);
  };
  seen(
    ["err", sconce("lower", "hostile.pt2", "-o", "hostile.pte")],
    "my\\x1b[2J::two",
    "in forward\\x1b[2J",
  );
  seen(["out", sconce("inspect", "hostile.pt2")], "x\\x9b31m\\x7f\\x0d\\u202e", "my\\x1b[2J::two");
  const method = `${evil}=${modelPath("linear.pt2")}`;
  const shown = "m\\x1b[2J\\x0an";
  seen(["out", sconce("lower", "--method", method, "-o", "evil.pte")], `methods ${shown},`);
  seen(["out", sconce("inspect", "evil.pte")], `method ${shown}:`);
  seen(["out", sconce("run", "evil.pte", "--input", "ones")], `${shown}: `);
  seen(["err", sconce("run", "evil.pte", "--method", "no", "--input", "ones")], shown);
  seen(["err", sconce("inspect", `${evil}.pte`)], shown);
  seen(["err", sconce(evil)], shown);
});

test("every error names the file of its own method", () => {
  const two = edited("../import/custom.pt2", (text) => text.replaceAll("my.two", "my.three"));
  writeFileSync(join(folder, "three.pt2"), two);
  const custom = modelPath("../import/custom.pt2");
  const methods = ["--method", `a=${custom}`, "--method", "b=three.pt2"];
  const { status, stderr } = sconce("lower", ...methods, "-o", "no.pte");
  assert.equal(status, 1);
  assert.match(stderr, /^\S+custom\.pt2: unsupported_op: my::two .*\(method a, /m);
  assert.match(stderr, /^three\.pt2: unsupported_op: my::three .*\(method b, /m);
});

test("warnings tell file, node, line and what to do, as errors do", () => {
  const model = (name: string, edit: (text: string) => string): void =>
    writeFileSync(join(folder, name), edited("mlp.pt2", edit));
  model("igamma.pt2", (text) =>
    text.replace(/aten\.tanh\.default(", "inputs": \[)(\{[^]*?\})\]/, (_, before, self) => {
      const other = (self as string).replace('"self"', '"other"');
      return `aten.igamma.default${before}${self}, ${other}]`;
    }),
  );
  model("old.pt2", (text) => text.replace('"major": 8', '"major": 7'));
  model("bad.pt2", (text) =>
    text.replace('"major": 8', '"major": 7').replace("aten.tanh", "aten.tanhh"),
  );
  const gap = (file: string, method: string): RegExp =>
    new RegExp(
      `^${file}: warning: unsupported_op: the official .* aten::igamma.out \\(method ${method}, node igamma, aten::igamma\\)\n` +
        "  zoo.py:61 in forward: .*\n  Run it with Sconce. For apps, ",
      "m",
    );
  const old = (file: string, method: string): RegExp =>
    new RegExp(`^${file}: warning: version: the model has the old .*${method}\n  Export `, "m");
  const each = sconce("lower", "igamma.pt2", "old.pt2", "bad.pt2", "-o", "warned/");
  assert.match(each.stderr, gap("igamma.pt2", "forward"));
  assert.match(each.stderr, old("old.pt2", " \\(method forward\\)"));
  assert.match(each.stderr, old("bad.pt2", " \\(method forward\\)"));
  assert.equal(each.stderr.match(/warning/g)!.length, 3, each.stderr);
  assert.match(each.stderr, /^bad\.pt2: unsupported_op: aten::tanhh /m);
  const methods = ["--method", "a=igamma.pt2", "--method", "b=old.pt2"];
  const together = sconce("lower", ...methods, "-o", "warned.pte");
  assert.match(together.stderr, gap("igamma.pt2", "a"));
  assert.match(together.stderr, old("old.pt2", " \\(method b\\)"));
  assert.match(sconce("inspect", "old.pt2").stderr, /^warning: version: .*\n  Export /);
});

test("operators that official runtimes lack are written out for them, and stay whole here", () => {
  for (const [name, whole] of [
    [
      "ops_conv_pool",
      [
        "aten::adaptive_max_pool2d.out",
        "aten::max_pool3d_with_indices.out",
        "aten::avg_pool3d.out",
      ],
    ],
    ["ops_index", ["aten::sort.values"]],
    ["ops_norm_linalg", ["aten::_embedding_bag.out"]],
    ["ops_reduce", ["aten::cumprod.out", "aten::median.dim_values", "aten::cummax.out"]],
  ] as const) {
    for (const target of ["executorch", "sconce"]) {
      const source = modelPath(`xnnpack/${name}.pt2`);
      const { status, stderr } = sconce(
        ...["lower", "--target", target, source, "-o", `${name}.pte`],
      );
      assert.equal(status, 0, stderr);
      assert.ok(!stderr.includes("warning: "), stderr); // of a runtime that is not asked for, neither
      const { stdout } = sconce("inspect", `${name}.pte`);
      for (const operator of whole)
        assert.equal(stdout.includes(` ${operator}\n`), target === "sconce", operator);
      assert.ok(!stdout.includes("aten::_trilinear"), "a bilinear form is faster expanded");
      const { status: ran, stderr: why } = sconce("run", `${name}.pte`, "--input", "ones");
      assert.equal(ran, 0, why);
    }
  }
});

test("data that a program does not need is told", () => {
  for (const name of ["mlp", "linear"])
    sconce("lower", modelPath(`${name}.pt2`), "--external-constants", "-o", `${name}_x.pte`);
  sconce("lower", modelPath("mlp.pt2"), "-o", "whole.pte");
  const run = (program: string, data: string): Result =>
    sconce("run", program, "--input", "ones", "--data", data);
  assert.deepEqual(
    [run("mlp_x.pte", "mlp_x.ptd").status, run("mlp_x.pte", "mlp_x.ptd").stderr],
    [0, ""],
  );
  const { status, stderr } = run("whole.pte", "linear_x.ptd");
  assert.deepEqual(
    [status, stderr],
    [0, "warning: linear_x.ptd has no weights that the program needs\n"],
  );
});

test("what is not a number is the worst of all gaps, and infinities are equal", async () => {
  const { worstFirst } = (await import(
    new URL("../../../../dist/cli/inspect/gap.js", import.meta.url).href
  )) as { worstFirst: (metric: string) => (a: number, b: number) => number };
  const gaps = [3, Infinity, NaN, Infinity, 1];
  assert.deepEqual(gaps.toSorted(worstFirst("snr")), [NaN, 1, 3, Infinity, Infinity]);
  assert.deepEqual(gaps.toSorted(worstFirst("mse")), [NaN, Infinity, Infinity, 3, 1]);
});
