// sconce completion: the scripts do in their shells what they say, for every command and flag.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { folder, sconce } from "../setup/command.js";

interface Table {
  name: string;
  files: string;
  flags: Record<string, { type: string; short?: string; words?: readonly string[] }>;
}
const { COMMANDS } = (await import(
  new URL("../../../../dist/cli/commands.js", import.meta.url).href
)) as { COMMANDS: Table[] };

mkdirSync(join(folder, "models"));
for (const name of ["models/a b.pt2", "models/c.pt2", "plain.pte"])
  writeFileSync(join(folder, name), "");
for (const shell of ["bash", "zsh", "fish"])
  writeFileSync(join(folder, `complete.${shell}`), sconce("completion", shell).stdout);

const has = (shell: string): boolean => spawnSync(shell, ["--version"]).status === 0;

function run(shell: string, script: string): string {
  const { status, stdout, stderr } = spawnSync(shell, ["-c", script], {
    cwd: folder,
    encoding: "utf8",
    timeout: 20_000,
  });
  assert.equal(status, 0, stderr);
  return stdout;
}

/** The words that bash offers for the last of these, as readline splits them. */
function inBash(...words: string[]): string[] {
  const list = words.map((word) => `'${word}'`).join(" ");
  const script = `source complete.bash; COMP_WORDS=(sconce ${list}); COMP_CWORD=${words.length}
    _sconce 2> /dev/null; printf '%s\\n' "\${COMPREPLY[@]}"`;
  return run("bash", script)
    .split("\n")
    .filter((line) => line !== "");
}

const flagsOf = ({ flags }: Table): string[] =>
  Object.entries(flags).flatMap(([name, { short }]) => [
    `--${name}`,
    ...(short ? [`-${short}`] : []),
  ]);

test("bash completes commands, and every flag of every command", () => {
  const names = COMMANDS.map(({ name }) => name);
  assert.deepEqual(inBash("").slice(0, names.length), names);
  assert.deepEqual(inBash("insp"), ["inspect"]);
  assert.deepEqual(inBash("help", ""), names);
  for (const command of COMMANDS)
    assert.deepEqual(inBash(command.name, "-").sort(), flagsOf(command).sort(), command.name);
});

test("bash completes the words of flags that take no others, and recipes", () => {
  for (const { name, flags } of COMMANDS)
    for (const [flag, { words }] of Object.entries(flags))
      if (words) assert.deepEqual(inBash(name, `--${flag}`, ""), words, `${name} --${flag}`);
  assert.ok(inBash("export", "--recipe", "xnnpack_f").includes("xnnpack_fp32"));
  assert.deepEqual(inBash("lower", "--memory-planning", "=", "gr"), ["greedy"]);
});

test("bash completes files, folders, and files behind a name", () => {
  assert.deepEqual(inBash("lower", "models/").sort(), ["models/a b.pt2", "models/c.pt2"]);
  assert.deepEqual(inBash("run", "pl"), ["plain.pte"]);
  assert.deepEqual(inBash("lower", "-o", "pl"), ["plain.pte"]);
  assert.deepEqual(inBash("run", "--out", ""), ["models"]);
  assert.deepEqual(inBash("lower", "--method", "m=pl"), ["m=plain.pte"]);
  assert.deepEqual(inBash("lower", "--method", "m", "=", "pl"), ["plain.pte"]);
  assert.deepEqual(inBash("studio", "--port", ""), []);
  assert.deepEqual(inBash("completion", ""), ["bash", "zsh", "fish"]);
});

// Other shells are not on every machine. Their output is checked in any case.
test("the scripts of all shells name every flag of every command", () => {
  for (const shell of ["bash", "zsh", "fish"]) {
    const { status, stdout } = sconce("completion", shell);
    assert.equal(status, 0);
    for (const { name, flags } of COMMANDS) {
      assert.ok(stdout.includes(name), name);
      for (const flag of Object.keys(flags))
        assert.ok(stdout.includes(shell === "fish" ? ` -l ${flag}` : `--${flag}`), flag);
    }
  }
  assert.equal(sconce("completion").status, 2);
});

test("zsh takes its script", { skip: has("zsh") ? false : "there is no zsh here" }, () => {
  // Functions of the completion system stand in for it: what _arguments is given is what counts.
  const script = `compdef() { :; }; source ./complete.zsh; _describe() { print -r -- $#commands; }
    _arguments() { print -rl -- "$@"; }
    words=(sconce ''); CURRENT=2; _sconce; words=(sconce lower ''); CURRENT=3; _sconce`;
  const lines = run("zsh", script).split("\n");
  assert.equal(lines[0], String(COMMANDS.length + 2));
  assert.ok(
    lines.some((line) => line.startsWith("*--memory-planning[")),
    lines.join("\n"),
  );
  assert.ok(lines.includes("*:file:_files"));
});

test("fish takes its script", { skip: has("fish") ? false : "there is no fish here" }, () => {
  const offered = (line: string): string[] =>
    run("fish", `source complete.fish; complete -C ${JSON.stringify(line)}`)
      .split("\n")
      .map((text) => text.split("\t")[0]!);
  for (const { name } of COMMANDS) assert.ok(offered("sconce ").includes(name), name);
  for (const command of COMMANDS)
    for (const flag of Object.keys(command.flags))
      assert.ok(offered(`sconce ${command.name} --${flag}`).includes(`--${flag}`), flag);
  assert.ok(offered("sconce lower --memory-planning gr").includes("greedy"));
  assert.ok(offered("sconce run pl").includes("plain.pte"));
});
