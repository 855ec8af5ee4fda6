// sconce inspect of dumps and records.
import assert from "node:assert/strict";
import { copyFileSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { folder, sconce } from "../setup/command.js";
import { dumpPath } from "../setup/dumps.js";
import { modelPath } from "../setup/reference.js";

const profile = dumpPath("mlp.etdp");
const record = dumpPath("mlp.etrecord");
const debug = ["--etrecord", record, "--debug-output", dumpPath("mlp.debug.bin")];

test("a dump is a table of events, totals by operator and by module", () => {
  const { status, stdout, stderr } = sconce("inspect", profile, "--etrecord", record);
  assert.equal(status, 0, stderr);
  assert.match(stdout, /^Execute of method forward: 4 runs, times in ms$/m);
  assert.match(stdout, /native_call_addmm\.out .* aten\.perm\S*…\S*m\.default +make_etdu\S*…/);
  assert.match(stdout, /^by operator$[^]*aten\.gelu\.default[^]*^by module$[^]*\(root\)/m);
  assert.doesNotMatch(stdout, /OPERATOR_CALL/);
});

test("gaps, the trace and the table as a file are written on demand", () => {
  const { status, stdout, stderr } = sconce(
    ...["inspect", dumpPath("mlp.debug.etdp"), ...debug, "--gap", "mse", "--time", "us"],
    ...["--trace", "trace.json", "--tsv", "events.tsv"],
  );
  assert.equal(status, 0, stderr);
  assert.match(stdout, /numeric gap of method forward to edge_dialect_exported_program/);
  assert.match(stdout, /output 0: snr [\d.]+, mse/);
  const trace = JSON.parse(readFileSync(join(folder, "trace.json"), "utf8")) as object;
  assert.ok("traceEvents" in trace);
  const tsv = readFileSync(join(folder, "events.tsv"), "utf8").split("\n");
  assert.match(tsv[0]!, /^block\tmethod\tevent\tp10/);
  assert.equal(tsv.length, 2 + 2 + 8 + 1);
});

test("all of it is JSON on demand", () => {
  const dump = dumpPath("mlp.debug.etdp");
  const { stdout } = sconce("inspect", dump, ...debug, "--gap", "snr", "--json");
  const all = JSON.parse(stdout) as Record<string, unknown[]>;
  assert.equal(all["kind"], "etdump");
  for (const key of ["events", "ops", "modules", "gaps"]) assert.ok(all[key], key);
});

test("the memory plan of a program is shown, the largest values at its peak", () => {
  const lowered = sconce(
    ...["lower", modelPath("mlp.pt2"), "-o", "plan.pte", "--etrecord", "plan.etrecord"],
  );
  assert.equal(lowered.status, 0, lowered.stderr);
  const shown = sconce("inspect", "plan.pte", "--etrecord", "plan.etrecord");
  assert.equal(shown.status, 0, shown.stderr);
  assert.match(shown.stdout, /^ {2}memory plan: .* in 1; at most .* at instruction \d+ of \d+/m);
  assert.match(shown.stdout, /aten::addmm\.out {2}.*addmm/);
  const { memory } = JSON.parse(sconce("inspect", "plan.pte", "--json").stdout) as {
    memory: { method: string; values: object[] }[];
  };
  assert.equal(memory[0]!.method, "forward");
  assert.ok(memory[0]!.values.length > 0);
  const withDump = sconce("inspect", profile, "--etrecord", record, "--program", "plan.pte");
  assert.match(withDump.stdout, /^method forward$[^]*memory plan: /m);
});

test("two dumps are compared", () => {
  const other = dumpPath("mlp_xnnpack.etdp");
  const records = ["--etrecord", record, "--etrecord", dumpPath("mlp_xnnpack.etrecord")];
  const { status, stdout } = sconce("inspect", profile, other, ...records);
  assert.equal(status, 0);
  assert.match(stdout, /^a: 4 runs, b: 4 runs of method forward\naverages in ms$/m);
  assert.match(stdout, /^ {2}total /m);
  const mixed = sconce("inspect", profile, other, "--etrecord", record);
  assert.match(mixed.stderr, /warning: b: .*other instructions/);
  const { rows } = JSON.parse(sconce("inspect", profile, other, ...records, "--json").stdout) as {
    rows: object[];
  };
  assert.equal(rows.length, 1);
});

test("two dumps of several methods are compared in all of them", () => {
  const methods = ["inspect", dumpPath("methods.etdp"), dumpPath("methods.etdp")];
  const { status, stdout } = sconce(...methods, "--etrecord", dumpPath("methods.etrecord"));
  assert.equal(status, 0);
  assert.match(stdout, /^a: 2 runs, b: 2 runs of method encode\na: .* of method decode\naverages/m);
  assert.match(stdout, /^ {2}event .* method +line$/m);
  assert.match(stdout, /^ {2}total .* encode *$[^]*^ {2}total .* decode *$/m);
  const one = sconce(
    ...[...methods, "--method", "decode"],
    ...["--etrecord", dumpPath("methods.etrecord")],
  );
  assert.match(one.stdout, /^a: 2 runs, b: 2 runs of method decode\naverages/m);
  assert.doesNotMatch(one.stdout, /encode|method +line/);
});

test("a record is its stages, their differences and any node's lines", () => {
  assert.match(sconce("inspect", record).stdout, /edge_dialect_exported_program +forward +8 +yes/);
  const stages = ["--stage", "exported_program", "--stage", "edge_dialect_exported_program"];
  const { stdout } = sconce("inspect", record, ...stages);
  assert.match(stdout, /^- linear = aten::linear\(x/m);
  assert.match(stdout, /^\+ aten_addmm_default = /m);
  assert.match(sconce("inspect", record, "--stage", "exported_program").stdout, /^softmax = /m);
  const node = sconce("inspect", record, "--node", "aten_addmm_default").stdout;
  assert.match(node, /debug handle 1\n.*File "make_etdumps\.py", line \d+, in forward/);
});

test("what does not fit together is wrong usage", () => {
  const wrong: [args: string[], message: RegExp][] = [
    [[profile, "--gap", "far"], /--gap is one of snr, mse/],
    [[record, "--gap", "snr"], /--gap belongs to a dump/],
    [[profile, "--stage", "x"], /--stage belongs to a record/],
    [[modelPath("mlp.pt2"), "--etrecord", record], /--etrecord belongs to a dump/],
    [[profile, record], /compares two files only if both are dumps/],
    [
      [profile, "--etrecord", record, "--etrecord", record],
      /more --etrecord flags than dumps: give one for each dump/,
    ],
    [[record, "--source-time", "ns"], /belongs to a dump \(\.etdp\); .* is a record/],
    [[profile, "--time", "hours"], /--time is one of ns, us, ms, s, cycles, not 'hours'/],
    [[profile, "--source-time", ""], /--source-time is one of/],
    [[profile, "--reference", "exported_program"], /--reference goes with --gap/],
    ...["gap", "trace", "tsv"].map((flag): [string[], RegExp] => [
      [profile, profile, `--${flag}`, "snr"],
      new RegExp(`--${flag} works with one dump only`),
    ]),
  ];
  for (const [args, message] of wrong) {
    const { status, stderr } = sconce("inspect", ...args);
    assert.equal(status, 2, stderr);
    assert.match(stderr, message);
  }
  const { status, stderr } = sconce("inspect", record, "--node", "none");
  assert.equal(status, 1);
  assert.match(stderr, /no stage has a node 'none'/);
});

test("what inspect writes replaces nothing that it reads, and no two of it are one file", () => {
  const files = { "a.etdp": dumpPath("mlp.debug.etdp"), "a.etrecord": record };
  for (const [name, path] of Object.entries(files)) copyFileSync(path, join(folder, name));
  copyFileSync(dumpPath("mlp.debug.bin"), join(folder, "a.bin"));
  const read = ["inspect", "a.etdp", "--etrecord", "a.etrecord", "--debug-output", "a.bin"];
  for (const name of ["a.etdp", "a.etrecord", "a.bin"])
    for (const flag of ["--trace", "--tsv"]) {
      const before = readFileSync(join(folder, name));
      const { status, stderr } = sconce(...read, flag, `./${name}`);
      assert.equal(status, 2, stderr);
      assert.match(stderr, /would be overwritten: name another output/);
      assert.deepEqual(readFileSync(join(folder, name)), before);
    }
  const same = sconce(...read, "--trace", "same.x", "--tsv", "./same.x");
  assert.equal(same.status, 2);
  assert.match(same.stderr, /two of the files would be written to/);
  const nowhere = sconce(...read, "--trace", "missing/x.json");
  assert.equal(nowhere.status, 1);
  assert.match(
    nowhere.stderr,
    /^io: cannot write missing\/x\.json: ENOENT: [^,]*\n {2}Check the path/,
  );
  assert.equal(sconce(...read, "--trace", "out/", "--tsv", "out/").status, 0);
  assert.deepEqual(readdirSync(join(folder, "out")).sort(), ["a.json", "a.tsv"]);
});

const several = [
  ...["inspect", dumpPath("methods.debug.etdp"), "--etrecord", dumpPath("methods.etrecord")],
  ...["--debug-output", dumpPath("methods.debug.bin")],
];

test("gaps are of each method, or of the one that is selected", () => {
  const all = sconce(...several, "--gap", "snr");
  assert.equal(all.status, 0, all.stderr);
  const methods = (text: string): string[] =>
    [...text.matchAll(/^numeric gap of method (\S+)/gm)].map(([, name]) => name!);
  assert.deepEqual(methods(all.stdout), ["encode", "decode"]);
  assert.match(all.stdout, /the reference ran on the inputs that the method was exported with/);
  assert.doesNotMatch(all.stdout, /by operator|Infinity/);
  const one = sconce(...several, "--gap", "snr", "--method", "decode");
  assert.deepEqual(methods(one.stdout), ["decode"]);
  assert.equal(one.stderr, "");
  const events = sconce(...several, "--method", "decode");
  assert.match(events.stdout, /^Execute of method decode: 1 run/m);
  assert.doesNotMatch(events.stdout, /encode/);
  assert.match(sconce(...several, "--method", "none").stderr, /no method 'none'/);
});

test("a single run has one time, and tables are as wide as the terminal", () => {
  const { stdout } = sconce(...several);
  assert.match(stdout, /^Execute of method encode: 1 run, .*\n {2}event +time +operators/m);
  assert.match(stdout, /aten\.perm\S*…|make_\S*…/);
  for (const line of stdout.split("\n")) assert.ok(line.length <= 120, line);
  assert.match(sconce(...several, "--json").stdout, /"aten.permute_copy.default"/);
});

test("dumps with nothing in common are said to be of different programs", () => {
  const other = dumpPath("mlp_xnnpack.etdp");
  const { status, stderr } = sconce("inspect", dumpPath("methods.etdp"), other);
  assert.equal(status, 0);
  assert.match(
    stderr,
    /warning: the two dumps share almost no rows: these are dumps of different programs/,
  );
  assert.doesNotMatch(sconce("inspect", profile, profile).stderr, /different programs/);
});

test("the exported program of several methods is said to be in records of each", () => {
  const args = ["inspect", dumpPath("methods.etrecord"), "--stage", "exported_program"];
  for (const more of [[], ["--method", "decode"]]) {
    const { status, stderr } = sconce(...args, ...more);
    assert.equal(status, 1);
    assert.match(stderr, /has one exported program only[^]*--etrecord-per-method/);
  }
});
