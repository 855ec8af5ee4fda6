// The command line as other tools call it: exit codes, files, and what goes to which stream.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { tensor, type Tensor } from "sconce";
import { folder, sconce } from "../setup/command.js";
import { difference, modelPath, readCases, samplePath } from "../setup/reference.js";

/** A .npy file's header text and data. */
function readNpy(name: string): { header: string; data: Buffer } {
  const bytes = readFileSync(join(folder, name));
  const end = 10 + bytes.readUInt16LE(8);
  return { header: bytes.subarray(10, end).toString("latin1"), data: bytes.subarray(end) };
}

test("no command, an unknown one and bad options are wrong usage", () => {
  for (const args of [
    [],
    ["frobnicate"],
    ["lower"],
    ["lower", "a.pt2"],
    ["lower", "--nope", "a.pt2", "-o", "a.pte"],
    ["lower", "--method", "x", "-o", "a.pte"],
    ["lower", "a.pt2", "--method", "m=a.pt2", "-o", "a.pte"],
    ["lower", "a.pt2", "-o", "a.pte", "--memory-planning", "psychic"],
    ["lower", "a.pt2", "-o", "a.pte", "--output", "b.pte"],
    ["lower", "a.pt2", "-o", ""],
    ["run"],
    ["run", "a.pte", "b.pte"],
    ["run", "a.pte", "--out", "x", "--out", "y"],
    ["run", "a.pte", "--input", "ones", "--out", ""],
    ["inspect"],
  ]) {
    const { status, stdout, stderr } = sconce(...args);
    assert.equal(status, 2, args.join(" "));
    assert.equal(stdout, "");
    assert.notEqual(stderr, "");
  }
});

test("help teaches and succeeds", () => {
  for (const args of [["--help"], ["lower", "--help"], ["run", "--help"], ["inspect", "-h"]]) {
    const { status, stdout } = sconce(...args);
    assert.equal(status, 0);
    assert.match(stdout, /sconce (lower|run|inspect)/);
  }
});

test("a failed lowering exits with 1, says why, and leaves no file", () => {
  writeFileSync(join(folder, "broken.pt2"), "PK\u0003\u0004 but not really");
  const { status, stdout, stderr } = sconce("lower", "broken.pt2", "-o", "broken.pte");
  assert.deepEqual([status, stdout], [1, ""]);
  assert.match(stderr, /broken\.pt2: \w+: /);
  assert.deepEqual(
    readdirSync(folder).filter((name) => name.includes(".pte")),
    [],
  );
});

test("several files are lowered each on its own, and a failure does not stop the rest", () => {
  const files = [modelPath("linear.pt2"), join(folder, "missing.pt2"), modelPath("mlp.pt2")];
  const { status, stderr } = sconce("lower", ...files, "-o", "several/");
  assert.equal(status, 1);
  assert.match(stderr, /missing\.pt2/);
  assert.deepEqual(readdirSync(join(folder, "several")).sort(), ["linear.pte", "mlp.pte"]);
});

test("a flag does what its option does", () => {
  const model = modelPath("weight_layouts.pt2");
  assert.equal(sconce("lower", model, "-o", "plain.pte").status, 0);
  assert.equal(sconce("lower", model, "--fold-constants", "-o", "folded.pte").status, 0);
  assert.ok(statSync(join(folder, "folded.pte")).size < statSync(join(folder, "plain.pte")).size);
});

test("largest sizes are given by name, each once", () => {
  const model = modelPath("../symbolic/slices.pt2");
  const refused = sconce("lower", model, "-o", "open.pte");
  assert.equal(refused.status, 1);
  assert.match(refused.stderr, /has no maximum .*\n  Give it one: --max-size s33=N/);
  assert.match(sconce("inspect", model).stdout, /  s50 in \[3, inf\], args_0\.1\n/);
  const scaled = sconce("inspect", modelPath("../symbolic/triples.pt2"));
  assert.match(scaled.stdout, /  s65 in \[2, inf\], seen in args_0\.0\n/);
  const sizes = ["--max-size", "s33=8", "--max-size", "args_0.1=20"];
  const done = sconce("lower", model, ...sizes, "-o", "open.pte");
  assert.equal(done.status, 0, done.stderr);
  assert.match(sconce("inspect", "open.pte").stdout, /float32 \[8, 20, 12\]/);
  for (const wrong of ["s33", "s33=", "=8", "s33=0", "s33=-1", "s33=1e3", "s33=0x10", "s33=8.5"]) {
    const { status, stderr } = sconce("lower", model, "--max-size", wrong, "-o", "open.pte");
    assert.equal(status, 2, wrong);
    assert.match(stderr, /--max-size takes NAME=N with N a positive whole number, not '/);
  }
  const twice = sconce("lower", model, ...sizes, "--max-size", "s33=9", "-o", "open.pte");
  assert.deepEqual([twice.status, /s33 is given twice/.test(twice.stderr)], [2, true]);
  const unknown = sconce("lower", model, ...sizes, "--max-size", "a=b=8", "-o", "open.pte");
  assert.equal(unknown.status, 1);
  assert.match(unknown.stderr, /no dynamic size 'a=b'\n  Use one of: s33 \(args_0\.0\), /);
});

test("weights go to a .ptd named after its program", () => {
  const files = [modelPath("linear.pt2"), modelPath("mlp.pt2")];
  assert.equal(sconce("lower", ...files, "--external-constants", "-o", "split/").status, 0);
  const names = ["linear.ptd", "linear.pte", "mlp.ptd", "mlp.pte"];
  assert.deepEqual(readdirSync(join(folder, "split")).sort(), names);
  const run = sconce("run", "split/mlp.pte", "--data", "split/mlp.ptd", "--input", "ones");
  assert.equal(run.status, 0, run.stderr);

  const without = sconce("run", "split/mlp.pte", "--input", "ones");
  assert.equal(without.status, 1);
  assert.match(without.stderr, /keeps '[\w.]+' and \d+ more in a data file that was not given/);
  assert.match(without.stderr, /--data model\.ptd/);
  assert.match(sconce("inspect", "split/mlp.pte").stdout, / needs [\w.]+ of a \.ptd\n/);
  const found = sconce("inspect", "split/mlp.pte", "--data", "split/mlp.ptd");
  assert.match(found.stdout, / needs [\w.]+, found in split\/mlp\.ptd\n/);
  assert.equal(sconce("inspect", modelPath("mlp.pt2"), "--data", "split/mlp.ptd").status, 2);
});

test("an error names the model's own line", () => {
  const { status, stderr } = sconce("lower", modelPath("../import/custom.pt2"), "-o", "custom.pte");
  assert.equal(status, 1);
  assert.match(
    stderr,
    /unsupported_op: my::two cannot be lowered: it returns a list of tensors \(.*\)\n  model\.py:1 in forward: /,
  );
});

test("a model is never overwritten by what is made of it", () => {
  const bytes = readFileSync(modelPath("linear.pt2"));
  writeFileSync(join(folder, "self.pt2"), bytes);
  assert.equal(sconce("lower", "self.pt2", "-o", "self.pt2").status, 2);
  assert.equal(sconce("lower", "--method", "m=self.pt2", "-o", "./self.pt2").status, 2);
  assert.deepEqual(readFileSync(join(folder, "self.pt2")), bytes);
});

test("methods and constants become one program", () => {
  const methods = ["prefill", "decode"].flatMap((m) => [
    "--method",
    `${m}=${samplePath(`stories260k.${m}.pt2`)}`,
  ]);
  const lowered = sconce(
    "lower",
    ...methods,
    "--constant",
    "get_max_seq_len=256",
    "--constant",
    "scale=1.0",
    "--constant",
    "name=tiny",
    "--share-state",
    "-o",
    "story.pte",
  );
  assert.equal(lowered.status, 0, lowered.stderr);
  const report = JSON.parse(sconce("inspect", "story.pte", "--json").stdout) as {
    methods: { name: string; outputs: { kind: string }[] }[];
  };
  const kinds = Object.fromEntries(report.methods.map((m) => [m.name, m.outputs[0]!.kind]));
  assert.deepEqual(kinds, {
    decode: "tensor",
    prefill: "tensor",
    get_max_seq_len: "int",
    scale: "double",
    name: "string",
  });
  const run = sconce("run", "story.pte", "--method", "get_max_seq_len", "--out", "constant");
  assert.match(run.stdout, /output_0: 256/);
  assert.equal(readNpy("constant/output_0.npy").data.readBigInt64LE(), 256n);
  assert.equal(sconce("run", "story.pte", "--method", "nope").status, 1);
});

test("inputs come from files, numbers and fillers; outputs go to .npy files", () => {
  assert.equal(sconce("lower", modelPath("add_mul.pt2"), "-o", "add.pte").status, 0);
  assert.equal(sconce("run", "add.pte", "--input", "ones", "--out", "ones").status, 0);
  const { header, data } = readNpy("ones/output_0.npy");
  assert.match(header, /'descr': '<f4', 'fortran_order': False, 'shape': \(2, 3\)/);
  assert.equal(data.length, 24);
  // The file that was written can be read back as an input.
  const again = sconce(
    "run",
    "add.pte",
    "--input",
    "ones/output_0.npy",
    "--input",
    "zeros",
    "--out",
    "again",
  );
  assert.equal(again.status, 0, again.stderr);
  assert.ok(existsSync(join(folder, "again/output_0.npy")));
  const wrong = sconce("run", "add.pte", "--input", "ones/output_0.npy");
  assert.equal(wrong.status, 1);
  assert.match(wrong.stderr, /takes 2 inputs/);
});

test("fillers give the same numbers for the same seed", () => {
  sconce("lower", modelPath("linear.pt2"), "-o", "linear.pte");
  const output = (seed: number): string => {
    assert.equal(
      sconce("run", "linear.pte", "--input", `random:${seed}`, "--out", `r${seed}`).status,
      0,
    );
    return readNpy(`r${seed}/output_0.npy`).data.toString("hex");
  };
  assert.equal(output(1), output(1));
  assert.notEqual(output(1), output(2));
});

test("bfloat16 is written as V2 and read back", () => {
  sconce("lower", modelPath("linear_bf16.pt2"), "-o", "bf16.pte");
  assert.equal(sconce("run", "bf16.pte", "--input", "random:3", "--out", "bf16").status, 0);
  assert.match(readNpy("bf16/output_0.npy").header, /'descr': '\|V2'/);
});

test("calls run in order with state kept", () => {
  sconce("lower", modelPath("counter_buffer.pt2"), "-o", "counter.pte");
  const call = (out: string): object => ({ method: "forward", inputs: ["ones"], out });
  writeFileSync(join(folder, "calls.json"), JSON.stringify([call("c0"), call("c1"), call("c2")]));
  const { status, stderr } = sconce("run", "counter.pte", "--calls", "calls.json");
  assert.equal(status, 0, stderr);
  const counts = ["c0", "c1", "c2"].map((name) =>
    Number(readNpy(`${name}/output_1.npy`).data.readBigInt64LE()),
  );
  assert.deepEqual([counts[1]! - counts[0]!, counts[2]! - counts[1]!], [1, 1]);
});

test("a call that fails takes the files of those before it with it", () => {
  sconce("lower", modelPath("counter_buffer.pt2"), "-o", "counter.pte");
  const calls = [
    { method: "forward", inputs: ["ones"], out: "f0" },
    { method: "forward", inputs: ["missing.npy"], out: "f1" },
  ];
  writeFileSync(join(folder, "failing.json"), JSON.stringify(calls));
  assert.equal(sconce("run", "counter.pte", "--calls", "failing.json").status, 1);
  for (const name of ["f0", "f1"]) assert.ok(!existsSync(join(folder, name)), name);
});

test("inspect tells what is in both kinds of files", () => {
  const pt2 = JSON.parse(sconce("inspect", modelPath("mlp.pt2"), "--json").stdout) as {
    kind: string;
    stages: { methods: { name: string; ops: Record<string, number> }[] }[];
  };
  assert.equal(pt2.kind, "pt2");
  assert.equal(pt2.stages[0]!.methods[0]!.ops["aten::linear"], 3);
  assert.match(sconce("inspect", modelPath("mlp.pt2")).stdout, /method forward/);
  sconce("lower", modelPath("mlp.pt2"), "-o", "mlp.pte");
  assert.match(sconce("inspect", "mlp.pte").stdout, /aten::addmm\.out/);
  writeFileSync(join(folder, "note.txt"), "hello, this is not a model at all");
  assert.equal(sconce("inspect", "note.txt").status, 1);
});

test("inspect says what a delegated program is made of, and whether it can run here", () => {
  const file = modelPath("../data/pte/linear.xnnpack.pte");
  const known = sconce("inspect", file).stdout;
  assert.match(known, /of program, 0 B of constants, 720 B of delegates, 544 B of named data\n/);
  assert.ok(!known.includes("cannot run"), known);
  assert.equal(sconce("run", file, "--input", "ones").status, 0);
  const bytes = readFileSync(file);
  bytes.write("NobodysBackend", bytes.indexOf("XnnpackBackend"));
  writeFileSync(join(folder, "nobodys.pte"), bytes);
  const { stdout } = sconce("inspect", "nobodys.pte");
  const why = "method 'forward' hands parts to the backend NobodysBackend, which this build";
  assert.ok(stdout.includes(`\n  cannot run here: ${why} does not have\n`), stdout);
  const run = sconce("run", "nobodys.pte", "--input", "ones");
  assert.deepEqual([run.status, run.stderr.split(":")[0]], [1, "delegate"]);
  assert.doesNotMatch(sconce("inspect", modelPath("official/linear.pte")).stdout, /cannot|named/);
});

test("several files need a folder, not the name of one .pte", () => {
  const files = [modelPath("linear.pt2"), modelPath("mlp.pt2")];
  const { status, stderr } = sconce("lower", ...files, "-o", "one.pte");
  assert.equal(status, 2);
  assert.match(stderr, /several files need a folder.*-o folder\/.*--method NAME=FILE/);
  assert.ok(!existsSync(join(folder, "one.pte")));
  mkdirSync(join(folder, "named.pte"));
  assert.equal(sconce("lower", ...files, "-o", "named.pte").status, 0);
  assert.equal(readdirSync(join(folder, "named.pte")).length, 2);
});

test("a .pt2 is not run but lowered first, and the hint says how", () => {
  const { status, stderr } = sconce("run", modelPath("mlp.pt2"), "--input", "ones");
  assert.equal(status, 1);
  assert.match(stderr, /sconce lower \S+mlp\.pt2 -o \S+mlp\.pte/);
});

test("an input of no known form is told the forms", () => {
  sconce("lower", modelPath("linear.pt2"), "-o", "linear.pte");
  for (const input of ["random", "", "seven"]) {
    const { status, stderr } = sconce("run", "linear.pte", "--input", input);
    assert.equal(status, 1);
    assert.match(stderr, new RegExp(`'${input}' is neither a value nor a file`));
    assert.match(stderr, /x\.npy, 3\.5, 7, true, none, zeros, ones or random:SEED/);
  }
  assert.match(
    sconce("run", "linear.pte", "--input", "no.npy").stderr,
    /cannot read no\.npy: ENOENT/,
  );
});

test("places that cannot be written fail at once and are named as they were given", () => {
  sconce("lower", modelPath("linear.pt2"), "-o", "linear.pte");
  writeFileSync(join(folder, "plain"), "");
  for (const place of ["/proc/x", "/proc/x/y", "plain", "plain/below"]) {
    const run = sconce("run", "linear.pte", "--input", "ones", "--out", place);
    assert.deepEqual([run.status, run.signal], [1, null], place);
    assert.match(run.stderr, new RegExp(`^io: cannot write ${place}: `));
    const lowered = sconce("lower", modelPath("linear.pt2"), "-o", `${place}/x.pte`);
    assert.equal(lowered.status, 1);
    assert.match(lowered.stderr, new RegExp(`io: cannot write ${place}/x.pte: E[A-Z]+: `));
    assert.doesNotMatch(lowered.stderr, /\.tmp/);
    const several = sconce("lower", modelPath("linear.pt2"), "-o", `${place}/`);
    assert.equal(several.status, 1);
    assert.match(several.stderr, new RegExp(`^io: cannot write ${place}/: `));
  }
});

test("a constant gives what its form says", () => {
  const forms = [
    ["256", "int", "256"],
    ["-0", "int", "0"],
    ["+5", "int", "5"],
    ["9223372036854775807", "int", "9223372036854775807"],
    ["-9223372036854775808", "int", "-9223372036854775808"],
    ["0.5", "double", "0.5"],
    ["1e3", "double", "1000"],
    ["-0.0", "double", "0"],
    ["inf", "double", "Infinity"],
    ["nan", "double", "NaN"],
    ["99999999999999999999.0", "double", "100000000000000000000"],
    ["true", "bool", "true"],
    ['"256"', "string", '"256"'],
    ["text", "string", '"text"'],
    ["[1, 2]", "int,int", "1,2"],
    ["[9007199254740993]", "int", "9007199254740993"],
    ["[1.0, 2.5]", "double,double", "1,2.5"],
    ['{"b": 1, "a": [0.5]}', "int,double", "1,0.5"],
    ['{"dtype": "float16"}', "int", "5"],
    ['{"number": "5", "text": "n1"}', "string,string", '"5","n1"'],
    ['{"2": 1, "1": 0}', "int,int", "1,0"],
    ['{"dtype": 1, "tensor": true, "double": 2}', "int,bool,int", "1,true,2"],
    ["null", "string", '"null"'],
  ] as const;
  const constants = forms.flatMap(([text], i) => ["--constant", `c${i}=${text}`]);
  const lowered = sconce("lower", modelPath("linear.pt2"), ...constants, "-o", "c.pte");
  assert.equal(lowered.status, 0, lowered.stderr);
  const report = JSON.parse(sconce("inspect", "c.pte", "--json").stdout) as {
    methods: { name: string; outputs: { kind: string }[] }[];
  };
  writeFileSync(join(folder, "c.json"), JSON.stringify(forms.map((_, i) => ({ method: `c${i}` }))));
  const outputs = sconce("run", "c.pte", "--calls", "c.json")
    .stdout.split(/^c\d+: .*$/m)
    .slice(1);
  forms.forEach(([text, kind, value], i) => {
    const kinds = report.methods.find((m) => m.name === `c${i}`)!.outputs.map((o) => o.kind);
    const values = [...outputs[i]!.matchAll(/output_\d+(?: \(.*\))?: (.*)/g)].map(
      (match) => match[1],
    );
    assert.deepEqual([kinds.join(), values.join()], [kind, value], text);
  });
});

test("a constant that no form fits is wrong usage, or an error that names it", () => {
  for (const text of ["99999999999999999999", "1e400", "[1, 2", '{"a": 1', '"open', "[1e400]"]) {
    const result = sconce("lower", modelPath("mlp.pt2"), "--constant", `c=${text}`, "-o", "no.pte");
    assert.equal(result.status, 2, text);
    assert.ok(result.stderr.includes(text.replace(/[[\]]/g, "")), result.stderr);
  }
  const object = sconce(
    "lower",
    modelPath("mlp.pt2"),
    "--constant",
    'c={"dtype": 7}',
    "-o",
    "no.pte",
  );
  assert.equal(object.status, 1);
  assert.match(object.stderr, /constant method 'c'/);
  assert.ok(!existsSync(join(folder, "no.pte")));
});

/** An .npy file of float32. */
function writeNpy(
  name: string,
  shape: readonly number[],
  fortran: boolean,
  data: Float32Array,
): void {
  const order = fortran ? "True" : "False";
  const text = `{'descr': '<f4', 'fortran_order': ${order}, 'shape': (${shape.join(", ")},), }\n`;
  const head = Buffer.from([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0, text.length, 0]);
  writeFileSync(
    join(folder, name),
    Buffer.concat([head, Buffer.from(text), Buffer.from(data.buffer)]),
  );
}

test("a Fortran-ordered array is the same input as its row-major twin", () => {
  sconce("lower", modelPath("mlp.pt2"), "-o", "mlp.pte");
  const [rows, columns] = [4, 16];
  const value = (r: number, c: number): number => Math.sin(r * columns + c);
  const at = (i: number, wide: number): [number, number] => [Math.floor(i / wide), i % wide];
  const array = (fill: (i: number) => number): Float32Array =>
    Float32Array.from({ length: rows * columns }, (_, i) => fill(i));
  writeNpy(
    "rows.npy",
    [rows, columns],
    false,
    array((i) => value(...at(i, columns))),
  );
  writeNpy(
    "columns.npy",
    [rows, columns],
    true,
    array((i) => value(at(i, rows)[1], at(i, rows)[0])),
  );
  for (const order of ["rows", "columns"]) {
    const run = sconce("run", "mlp.pte", "--input", `${order}.npy`, "--out", order);
    assert.equal(run.status, 0, run.stderr);
  }
  const [one, other] = ["rows", "columns"].map((order) => readNpy(`${order}/output_0.npy`));
  assert.deepEqual(one, other);
});

test("arrays hold logical values whatever layout the program declares", async () => {
  for (const [name, side] of [
    ["channels_last_input", "inputs"],
    ["weight_layouts", "outputs"],
  ] as const) {
    sconce("lower", modelPath(`${name}.pt2`), "-o", "last.pte");
    const report = JSON.parse(sconce("inspect", "last.pte", "--json").stdout) as {
      methods: Record<typeof side, { dimOrder: number[] }[]>[];
    };
    const at = report.methods[0]![side].findIndex((v) => v.dimOrder.join() === "0,2,3,1");
    assert.ok(at >= 0, `${name} has channels-last ${side}`);
    const { inputs, outputs } = readCases(name)[0]!;
    const index = side === "inputs" ? 0 : at;
    const [input, output] = [inputs[0] as Tensor, outputs[index] as Tensor];
    writeNpy("nchw.npy", input.shape, false, input.data as Float32Array);
    const run = sconce("run", "last.pte", "--input", "nchw.npy", "--out", "last");
    assert.equal(run.status, 0, run.stderr);
    const { header, data } = readNpy(`last/output_${index}.npy`);
    assert.match(header, new RegExp(`'shape': \\(${output.shape.join(", ")}\\)`));
    assert.match(header, /'fortran_order': False/);
    const actual = tensor(new Float32Array(new Uint8Array(data).buffer), output.shape);
    assert.equal(difference(actual, output), "");
  }
});

test("a tensor of column-major layout is written as that and read back the same", async () => {
  const npy = (await import(
    new URL("../../../../dist/cli/files/npy.js", import.meta.url).href
  )) as {
    writeNpy(t: Tensor): Uint8Array;
    readNpy(bytes: Uint8Array, name: string): Tensor;
  };
  const matrix = tensor(Float32Array.of(1, 2, 3, 4, 5, 6), [2, 3]);
  const bytes = npy.writeNpy({ ...matrix, dimOrder: [1, 0] });
  assert.match(Buffer.from(bytes).toString("latin1"), /'fortran_order': True, 'shape': \(2, 3\)/);
  const stored = new Float32Array(bytes.slice(-24).buffer);
  assert.deepEqual([...stored], [1, 4, 2, 5, 3, 6]);
  assert.deepEqual(npy.readNpy(bytes, "x.npy"), matrix);
});

test("an output that is a written input says so", () => {
  assert.equal(sconce("lower", modelPath("input_mutation.pt2"), "-o", "mutation.pte").status, 0);
  const run = sconce("run", "mutation.pte", "--input", "ones");
  assert.match(run.stdout, /output_0 \(x\): float32 \[3\] .* \(input 0 after the call\)\n/);
  assert.match(sconce("inspect", "mutation.pte").stdout, /out .*, input 0 after the call\n/);
  const { methods } = JSON.parse(sconce("inspect", "mutation.pte", "--json").stdout);
  assert.equal(methods[0].outputs[0].ofInput, 0);
  assert.equal(methods[0].outputs.at(-1).ofInput, undefined);
});

test("--version is the package's", () => {
  const { status, stdout } = sconce("--version");
  assert.equal(status, 0);
  assert.match(stdout, /^\d+\.\d+\.\d+\n$/);
});

test("sizes have three digits and the unit that goes with them", async () => {
  const { formatBytes } = (await import(
    new URL("../../../../dist/base/size.js", import.meta.url).href
  )) as {
    formatBytes(bytes: number): string;
  };
  for (const [bytes, text] of [
    [0, "0 B"],
    [999, "999 B"],
    [1000, "1.00 KB"],
    [99_949, "99.9 KB"],
    [999_499, "999 KB"],
    [999_500, "1.00 MB"],
    [5_370_000_000, "5.37 GB"],
    [5_370_000_000_000, "5370 GB"],
  ] as const)
    assert.equal(formatBytes(bytes), text);
});
