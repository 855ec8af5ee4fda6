// sconce inspect of dumps and records.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { folder, sconce } from "./command.js";
import { dumpPath } from "./dumps.js";
import { modelPath } from "./reference.js";

const profile = dumpPath("mlp.etdp");
const record = dumpPath("mlp.etrecord");
const debug = ["--etrecord", record, "--debug-output", dumpPath("mlp.debug.bin")];

test("a dump is a table of events, totals by operator and by module", () => {
  const { status, stdout, stderr } = sconce("inspect", profile, "--etrecord", record);
  assert.equal(status, 0, stderr);
  assert.match(stdout, /^Execute of method forward: 4 runs, times in ms$/m);
  assert.match(
    stdout,
    /native_call_addmm\.out .* aten\.addmm\.default .*make_etdumps\.py:\d+ in forward/,
  );
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
  for (const key of ["events", "ops", "modules", "gap"]) assert.ok(all[key], key);
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
  assert.match(stdout, /^a: 4 runs, b: 4 runs of method forward; averages in ms$/m);
  assert.match(stdout, /^ {2}total /m);
  const mixed = sconce("inspect", profile, other, "--etrecord", record);
  assert.match(mixed.stderr, /warning: b: .*different programs/);
  const { rows } = JSON.parse(sconce("inspect", profile, other, ...records, "--json").stdout) as {
    rows: object[];
  };
  assert.equal(rows.length, 1);
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
    [[profile, record], /two files are compared if both are dumps/],
    [[profile, "--etrecord", record, "--etrecord", record], /once for each dump/],
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
