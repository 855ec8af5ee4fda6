// sconce run where it records, and sconce bundle with the calls of bundles.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { createEngine, tensor } from "sconce";
import { cli, folder, sconce } from "../setup/command.js";
import { modelPath } from "../setup/reference.js";

const put = (name: string, calls: unknown): void =>
  writeFileSync(join(folder, name), JSON.stringify(calls));
const fails = (status: number, message: RegExp, ...args: string[]): void => {
  const result = sconce(...args);
  assert.equal(result.status, status, result.stderr);
  assert.match(result.stderr, message);
};

test("a run on the inputs of a record is compared with its program", () => {
  const lowered = sconce("lower", modelPath("mlp.pt2"), "-o", "m.pte", "--etrecord", "records/");
  assert.equal(lowered.status, 0, lowered.stderr);
  const example = ["--input", "example", "--etrecord", "records/m.etrecord"];
  const values = ["--etdump", "runs/", "--debug-output", "runs/", "--intermediates"];
  const ran = sconce("run", "m.pte", ...example, ...values);
  assert.equal(ran.status, 0, ran.stderr);
  assert.deepEqual(readdirSync(join(folder, "runs")).sort(), ["m.debug.bin", "m.etdp"]);
  const files = ["--etrecord", "records/m.etrecord", "--debug-output", "runs/m.debug.bin"];
  const { stdout } = sconce("inspect", "runs/m.etdp", ...files, "--gap", "max");
  assert.match(stdout, /the reference ran on the record's representative inputs/);
  const [, most] = /output 0: snr .*, max (\S+) \(/.exec(stdout) ?? [];
  assert.ok(Number(most) < 1e-5, stdout);
});

test("the inputs of a record are all of them, and need it", () => {
  fails(2, /needs the record/, "run", "m.pte", "--input", "example");
  fails(
    2,
    /takes its inputs from the record/,
    "run",
    "m.pte",
    "--input",
    "ones",
    "--etrecord",
    "records/m.etrecord",
  );
  const twice = ["--input", "example", "--input", "ones", "--etrecord", "records/m.etrecord"];
  fails(2, /takes all inputs: leave out the other/, "run", "m.pte", ...twice);
});

test("a gap that compares nothing fails and says so, and records of other programs are told", () => {
  const lowered = sconce("lower", modelPath("cnn.pt2"), "-o", "c.pte", "--etrecord", "records/");
  assert.equal(lowered.status, 0, lowered.stderr);
  const debug = ["--debug-output", "runs/m.debug.bin"];
  const files = ["--etrecord", "records/c.etrecord", ...debug];
  const gap = sconce("inspect", "runs/m.etdp", ...files, "--gap", "max");
  assert.equal(gap.status, 1, gap.stdout);
  assert.match(gap.stderr, /^warning: .*has other instructions than the record/);
  assert.match(gap.stderr, /mismatch: no event of the dump belongs to a node of the record/);
  const { status, stderr } = sconce("inspect", "m.pte", "--etrecord", "records/c.etrecord");
  assert.equal(status, 0);
  assert.match(stderr, /^warning: method 'forward' has different instructions in the program/);
  const own = sconce("inspect", "m.pte", "--etrecord", "records/m.etrecord");
  assert.equal(own.stderr, "");
});

test("where a record cannot go is said before anything runs", () => {
  const missing = sconce("run", "m.pte", "--input", "ones", "--etdump", "missing/x.etdp");
  assert.equal(missing.status, 1);
  assert.match(missing.stderr, /cannot write missing\/x\.etdp: ENOENT/);
  assert.equal(missing.stdout, "");
  fails(2, /would be overwritten/, "run", "m.pte", "--input", "ones", "--etdump", "m.pte");
  fails(1, /cannot write missing\/m/, "lower", modelPath("mlp.pt2"), "-o", "missing/m");
});

test("a number below 0 is wrong usage in one line", () => {
  for (const flag of ["--repeat", "--rtol"]) {
    const { status, stderr } = sconce("run", "m.pte", "--verify", flag, "-1");
    assert.equal(status, 2);
    assert.match(
      stderr,
      new RegExp(`^sconce run: ${flag} takes a .*, not '-1'\\nTry sconce run --help\\.\\n$`),
    );
    assert.doesNotMatch(stderr, /\\x0a/);
  }
});

test("bundles have calls of their methods, and are verified by method", () => {
  const methods = [`zeta=${modelPath("mlp.pt2")}`, `alpha=${modelPath("linear.pt2")}`];
  sconce("lower", ...methods.flatMap((method) => ["--method", method]), "-o", "two.pte");
  const ones = (method: string): object => ({ method, inputs: ["ones"] });
  put("calls.json", [ones("zeta"), ones("alpha"), ones("zeta")]);
  const bundle = (calls: string): string[] => [
    "bundle",
    "two.pte",
    "--calls",
    calls,
    "-o",
    "b.bpte",
  ];
  put("none.json", []);
  fails(1, /none\.json holds no calls/, ...bundle("none.json"));
  put("out.json", [ones("zeta"), { ...ones("zeta"), out: "x" }]);
  fails(1, /call 1 of out\.json has "out"/, ...bundle("out.json"));
  put("unnamed.json", [{ inputs: ["ones"] }]);
  fails(1, /several methods\n {2}Name one in the calls, as "method"/, ...bundle("unnamed.json"));
  assert.ok(!existsSync(join(folder, "b.bpte")));
  assert.equal(sconce(...bundle("calls.json")).status, 0);
  const { stdout } = sconce("inspect", "b.bpte");
  assert.match(stdout, /^bundled program: [^]*2 test cases of method zeta/);
  assert.match(sconce("run", "b.bpte", "--verify").stdout, /^3 cases as expected$/m);
  const one = sconce("run", "b.bpte", "--verify", "--method", "zeta");
  assert.doesNotMatch(one.stdout, /alpha/);
  assert.match(one.stdout, /^2 cases as expected$/m);
  const recorded = sconce(
    ...["run", "b.bpte", "--verify", "--method", "zeta"],
    ...["--etdump", "zeta.etdp", "--repeat", "2"],
  );
  assert.equal(recorded.status, 0, recorded.stderr);
  // Loaded once, two cases, twice.
  assert.match(recorded.stdout, /^zeta\.etdp: 5 blocks, /m);
  fails(1, /no cases of method 'beta'/, "run", "b.bpte", "--verify", "--method", "beta");
});

test("where outputs cannot go, or would replace each other, is said before anything runs", () => {
  const ones = (out?: string): object => ({ inputs: ["ones"], ...(out !== undefined && { out }) });
  const calls = (...list: object[]): string[] => {
    put("places.json", list);
    return ["run", "m.pte", "--calls", "places.json"];
  };
  fails(
    2,
    /calls 0 and 2 would both write .*x\/output_0\.npy/,
    ...calls(ones("x"), ones(), ones("./x")),
  );
  assert.ok(!existsSync(join(folder, "x")));
  assert.equal(sconce(...calls(ones("x"), ones("y")), "--repeat", "2").status, 0);
  const run = ["run", "m.pte", "--input", "ones", "--out"];
  fails(2, /two of the files/, ...run, "z", "--etdump", "z/output_0.npy");
  mkdirSync(join(folder, "taken", "output_0.npy"), { recursive: true });
  fails(
    1,
    /io: cannot write taken\/output_0\.npy: it exists and is not a regular file/,
    ...run,
    "taken",
  );
  fails(1, /io: cannot write m\.pte/, ...run, "m.pte");
  if (process.getuid?.() !== 0) {
    mkdirSync(join(folder, "closed"), { mode: 0o500 });
    fails(1, /io: cannot write closed\/output_0\.npy/, ...run, "closed");
  }
});

test("of a recording that gets too large the runs before it are there", async () => {
  const { isRecorded } = (await import(
    new URL("cli/run/recording.js", pathToFileURL(cli)).href
  )) as {
    isRecorded(runs: () => void, done?: () => number): boolean;
  };
  const engine = await createEngine();
  const options = { eventBytesMax: 4096 };
  const program = engine.load({ path: join(folder, "m.pte") }, options);
  const { shape } = program.inspect().methods[0]!.inputs[0]!;
  const sizes = shape as number[];
  const x = tensor(new Float32Array(sizes.reduce((a, b) => a * b, 1)), sizes);
  let done = 0;
  const runs = (): void => {
    for (;;) {
      program.run("forward", [x], { events: "outputs" });
      done++;
    }
  };
  assert.equal(
    isRecorded(runs, () => done),
    false,
  );
  assert.ok(done > 0);
  const { blocks } = program.etdump();
  assert.equal(blocks, done + 1);
  assert.throws(
    () =>
      isRecorded(
        () => runs(),
        () => 0,
      ),
    /exceed the limits of a dump/,
  );
  assert.throws(() => isRecorded(() => program.run("none", [])), /none/);
  program.dispose();
});
