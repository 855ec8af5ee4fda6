// How the command helps: suggestions, help of each command, quiet, the seed, and progress that fits.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { cli, folder, node, sconce } from "../setup/command.js";
import { modelPath } from "../setup/reference.js";

const load = async <T>(name: string): Promise<T> =>
  (await import(new URL(`../../../../dist/cli/${name}.js`, import.meta.url).href)) as T;
interface Table {
  name: string;
  summary: string;
  flags: Record<string, { short?: string }>;
}
const mlp = modelPath("mlp.pt2");
sconce("lower", mlp, "-o", "mlp.pte");

test("misspelt flags, commands, methods, recipes, words and stages are told what is like them", () => {
  for (const [args, status, message] of [
    [["lower", mlp, "--outptu", "x"], 2, /there is no flag --outptu\n {2}Did you mean --output\?/],
    [["lwoer", mlp], 2, /there is no command 'lwoer'\n {2}Did you mean lower\?/],
    [["help", "inspct"], 2, /there is no command 'inspct'\n {2}Did you mean inspect\?/],
    [
      ["run", "mlp.pte", "--method", "forwrad"],
      1,
      /no method 'forwrad'\n {2}Did you mean 'forward'\?/,
    ],
    [["export", mlp, "--recipe", "xnnpack_fp23", "-o", "x"], 2, /Did you mean 'xnnpack_fp32'\?/],
    [["lower", mlp, "--memory-planning", "gredy", "-o", "x"], 2, /Did you mean greedy\?/],
    [["lower", mlp, "--backend", "xnnpak", "-o", "x.pte"], 1, /Did you mean 'xnnpack'\?/],
    [["completion", "bsh"], 2, /Did you mean bash\?/],
    [["lower", mlp, "-x"], 2, /there is no flag -x/],
  ] as const) {
    const { status: code, stdout, stderr } = sconce(...args);
    assert.deepEqual([code, stdout], [status, ""], args.join(" "));
    assert.match(stderr, message);
  }
});

test("a flag without its value says which one it takes", () => {
  for (const [args, message] of [
    [["lower", mlp, "-o"], /-o lacks its value: -o PATH/],
    [
      ["lower", mlp, "-o", "--verify"],
      /-o lacks its value: -o PATH\n {2}.* is written --output=--verify/,
    ],
    [["lower", mlp, "--verify=yes", "-o", "x"], /--verify takes no value/],
  ] as const) {
    const { status, stderr } = sconce(...args);
    assert.equal(status, 2);
    assert.match(stderr, message);
  }
  // A number may be negative, a flag begins with a letter.
  const { stderr } = sconce("run", "mlp.pte", "--input", "-1.5");
  assert.match(stderr, /a number cannot be the float32 tensor/);
});

test("sconce alone says in ten lines what to do; help lists the commands, or tells one", async () => {
  const { COMMANDS } = await load<{ COMMANDS: Table[] }>("commands");
  const alone = sconce();
  assert.deepEqual([alone.status, alone.stdout], [2, ""]);
  assert.ok(alone.stderr.split("\n").length <= 11, alone.stderr);
  const lists = ["help", "--help", "-h"].map((word) => sconce(word).stdout);
  for (const { name, summary } of COMMANDS) {
    assert.ok(alone.stderr.includes(name), name);
    for (const list of lists) assert.ok(list.includes(`${name} `), name);
    const own = sconce("help", name);
    assert.equal(own.status, 0);
    assert.ok(own.stdout.startsWith(`sconce ${name}: ${summary}\n`));
    assert.equal(sconce(name, "--help").stdout, own.stdout);
  }
});

test("the help of a command tells each of its flags, in lines of 100 columns", async () => {
  const { COMMANDS } = await load<{ COMMANDS: Table[] }>("commands");
  const { helpOf } = await load<{ helpOf(command: Table): string }>("shell/help");
  for (const command of COMMANDS) {
    const text = helpOf(command);
    for (const [flag, { short }] of Object.entries(command.flags))
      assert.match(text, new RegExp(`^  ${short ? `-${short}, ` : ""}--${flag}( |\\n)`, "m"));
    const flags = text.split("\n").filter((line) => line.startsWith("  -") || /^ {27}/.test(line));
    for (const line of flags) assert.ok(line.length <= 100, line);
  }
});

test("the version has several names", () => {
  for (const word of ["--version", "-V", "-v", "version"])
    assert.match(sconce(word).stdout, /^\d+\.\d+\.\d+\n$/);
});

test("quiet leaves out all but results and errors", () => {
  const lowered = sconce("lower", mlp, "--target-runtime", "1.4", "-o", "q.pte", "--quiet");
  assert.deepEqual([lowered.status, lowered.stdout, lowered.stderr], [0, "", ""]);
  const exported = sconce("export", mlp, "--recipe", "portable", "-o", "q.pte", "-q");
  assert.deepEqual([exported.status, exported.stdout, exported.stderr], [0, "", ""]);
  const ran = sconce("run", "q.pte", "--input", "ones", "-q");
  assert.match(ran.stdout, /^ {2}output_0: float32 .*\n$/);
  assert.match(sconce("run", "q.pte", "-q").stderr, /takes 1 input, not 0/);
  assert.match(sconce("inspect", "q.pte", "-q").stdout, /method forward/);
});

test("--seed takes a whole number, and the same one gives the same numbers", () => {
  const multinomial = modelPath("../emit/random.pte");
  const run = (...seed: string[]): string => {
    const args = ["--method", "draw", "--input", "zeros", "-q", ...seed];
    const { status, stdout, stderr } = sconce("run", multinomial, ...args);
    assert.equal(status, 0, stderr);
    return stdout;
  };
  assert.equal(run("--seed", "7"), run("--seed", "7"));
  assert.notEqual(run("--seed", "7"), run("--seed", "8"));
  assert.equal(run("--seed", "0"), run());
  for (const seed of ["-1", "1.5", "", "x"]) {
    const { status, stderr } = sconce("run", multinomial, `--seed=${seed}`);
    assert.equal(status, 2);
    assert.match(stderr, /--seed is a whole number, 0 or more, not '/);
  }
});

// --- The terminal ------------------------------------------------------------------------------------

test("a line of progress is narrower than the terminal, whatever letters are in it", async () => {
  const { progressLine } = await load<{
    progressLine(subject: string, words: string, columns: number): string;
  }>("print/progress");
  const { columnsOf } = await load<{ columnsOf(text: string): number }>("print/width");
  for (const subject of [
    "a.pt2",
    `${"folder/".repeat(30)}model.pt2`,
    "模型".repeat(60),
    "é\u0301👩".repeat(40),
  ])
    for (const columns of [1, 2, 5, 10, 20, 40, 80, 200]) {
      const line = progressLine(subject, "serialize 42 %", columns);
      assert.ok(columnsOf(line) < columns || line === "", `${columns}: ${line}`);
      if (columns > 40) assert.match(line, /: serialize 42 %$/);
    }
  assert.equal(progressLine("a.pt2", "plan", 80), "a.pt2: plan");
  assert.equal(progressLine("0123456789abcdef", "plan", 20), "012345…abcdef: plan");
});

/** Runs the command on a terminal of these columns, and gives all that it shows. */
function onTerminal(columns: number, environment: object, ...args: string[]): string {
  const line = [process.execPath, cli, ...args].map((arg) => `'${arg}'`).join(" ");
  const script = `stty cols ${columns}; ${line}`;
  const { stdout } = spawnSync("script", ["-qec", script, "/dev/null"], {
    cwd: folder,
    encoding: "utf8",
    env: { ...process.env, ...environment },
    timeout: 20_000,
  });
  return stdout;
}

test("progress never takes a second row, and is not shown where it is not wanted", () => {
  const terminal = { TERM: "xterm", NO_COLOR: "", FORCE_COLOR: undefined };
  const shown = onTerminal(40, terminal, "lower", mlp, "-o", "term.pte");
  const lines = shown.split("\r\x1b[K").slice(1, -1);
  assert.ok(lines.length > 0, JSON.stringify(shown));
  for (const line of lines) assert.ok(line.length < 40, line);
  const without = [
    onTerminal(40, { ...terminal, TERM: "dumb" }, "lower", mlp, "-o", "term.pte"),
    onTerminal(40, terminal, "lower", mlp, "-o", "term.pte", "-q"),
  ];
  for (const text of without) assert.ok(!text.includes("\x1b"), JSON.stringify(text));
});

test("colours are for terminals, and obey NO_COLOR and FORCE_COLOR", async () => {
  const { hasColour } = await load<{ hasColour(stream: object, environment: object): boolean }>(
    "print/terminal",
  );
  const [terminal, pipe] = [{ isTTY: true }, {}];
  assert.ok(hasColour(terminal, {}));
  assert.ok(!hasColour(pipe, {}));
  assert.ok(!hasColour(terminal, { NO_COLOR: "1" }));
  assert.ok(hasColour(terminal, { NO_COLOR: "" }));
  assert.ok(!hasColour(terminal, { TERM: "dumb" }));
  assert.ok(hasColour(pipe, { FORCE_COLOR: "1" }));
  assert.ok(!hasColour(terminal, { FORCE_COLOR: "0" }));
  assert.ok(!hasColour(pipe, { FORCE_COLOR: "1", NO_COLOR: "1" }));
});

test("a hint fits what the disk says", () => {
  for (const [code, hint] of [
    ["ENOSPC", /Make room on the disk/],
    ["EROFS", /can only be read/],
    ["EACCES", /check its permissions/],
  ] as const) {
    const change = `import fs from "node:fs"; import { syncBuiltinESMExports } from "node:module";
      fs.writeSync = () => { throw Object.assign(new Error("${code}: no, write"), { code: "${code}" }); };
      syncBuiltinESMExports();`;
    const module = `data:text/javascript,${encodeURIComponent(change)}`;
    const { status, stderr } = node("--import", module, cli, "lower", mlp, "-o", "full.pte");
    assert.equal(status, 1);
    assert.match(stderr, new RegExp(`cannot write full\\.pte: ${code}: no`));
    assert.match(stderr, hint);
  }
});
