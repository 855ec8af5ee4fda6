// The harness judges every C test, so it is judged first: tests/probes/harness.c fails in
// known ways and this looks at what was said. Called by CTest with the probe's command line.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";

const [command, ...first] = process.argv.slice(2);
const run = (...args) => spawnSync(command, [...first, ...args], { encoding: "utf8" });
const lastLine = (text) => text.trimEnd().split("\n").at(-1);

const all = run();
assert.equal(all.status, 1);
assert.equal(lastLine(all.stdout), "3 passed, 3 failed");
const reports = all.stdout.split("\n").filter((line) => /^tests\/\S+:\d+: /.test(line));
assert.equal(reports.length, 16, all.stdout);
assert.ok(!all.stdout.includes("unreachable"));
for (const text of ["1 is 1, not 2", "gave io, not ok", "byte 2 of 3 is 0x63, not 0x64", "[bad]"]) {
  assert.ok(all.stdout.includes(text), `${text} in\n${all.stdout}`);
}

assert.equal(run("--filter", "passes").status, 0);
assert.equal(lastLine(run("--filter", "cases: good").stdout), "2 passed, 0 failed");
assert.equal(run("--filter", "nothing is called this").status, 1);
assert.equal(run("--file", "probes/harness.c").status, 1);
assert.equal(run("--no-such-option").status, 2);
assert.equal(run("--list").stdout.trim().split("\n").length, 4);
