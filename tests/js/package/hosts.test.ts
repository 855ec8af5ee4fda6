// The packed library on other hosts: installed from its tarball into an empty folder, it lowers and
// runs mlp in Deno, Bun and workerd, the last with a module that is imported and never compiled from
// bytes.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { modelPath } from "../setup/reference.js";
import { deflated } from "../setup/zip.js";

const root = fileURLToPath(new URL("../../../..", import.meta.url));
let folder = "";

/** The path of another JavaScript host, installed on first use. */
function host(name: string): string {
  const script = join(root, "tools/runtime.sh");
  return execFileSync("bash", [script, name], { encoding: "utf8" }).trim().split("\n").at(-1)!;
}

before(() => {
  folder = mkdtempSync(join(tmpdir(), "sconce-hosts-"));
  const pack = ["pack", "--silent", "--ignore-scripts", "--pack-destination", folder];
  execFileSync("npm", pack, { cwd: root });
  const tarball = readdirSync(folder).find((name) => name.endsWith(".tgz"))!;
  const target = join(folder, "node_modules/sconce");
  mkdirSync(target, { recursive: true });
  execFileSync("tar", ["-xzf", join(folder, tarball), "-C", target, "--strip-components=1"]);
  writeFileSync(join(folder, "package.json"), '{"type": "module"}\n');
  for (const name of ["mlp.mjs", "edge.mjs"]) {
    copyFileSync(join(root, "examples", name), join(folder, name));
  }
});
after(() => rmSync(folder, { recursive: true, force: true }));

const EXPECTED = /^\d+ bytes of \.pte; output \[ 4, 10 \]/;

for (const [name, args] of [
  ["node", []],
  ["deno", ["run", "-A", "--no-lock"]],
  ["bun", []],
] as const) {
  test(`the package lowers and runs mlp in ${name}`, () => {
    const path = name === "node" ? process.execPath : host(name);
    const text = execFileSync(path, [...args, "mlp.mjs", modelPath("mlp.pt2")], {
      cwd: folder,
      encoding: "utf8",
      timeout: 60_000,
    });
    assert.match(text.replace(/\x1b\[\d+m/g, ""), EXPECTED);
  });
}

test("the installed command lowers, runs and explains itself", () => {
  const cli = join(folder, "node_modules/sconce/dist/cli.js");
  const run = (...args: string[]): string =>
    execFileSync(process.execPath, [cli, ...args], { cwd: folder, encoding: "utf8" });
  assert.match(run("lower", modelPath("mlp.pt2"), "-o", "mlp.pte"), /^mlp\.pte: /);
  assert.match(run("run", "mlp.pte", "--input", "ones"), /output_0: float32 \[4, 10\]/);
  assert.match(run("--help"), /usage: sconce/);
});

/** Every file of the package as a module of a workerd service. */
function workerConfig(port: number): string {
  const dist = join(folder, "node_modules/sconce/dist");
  const embed = (name: string, path: string, kind = "esModule"): string =>
    `(name = "${name}", ${kind} = embed "${path}")`;
  const library = readdirSync(dist, { encoding: "utf8", recursive: true })
    .filter((name) => name.endsWith(".js"))
    .map((name) => embed(`node_modules/sconce/dist/${name}`, `node_modules/sconce/dist/${name}`));
  writeFileSync(
    join(folder, "sconce.js"),
    'export * from "./node_modules/sconce/dist/index.js";\n',
  );
  const modules = [
    embed("edge.mjs", "edge.mjs"),
    embed("sconce", "sconce.js"),
    embed("sconce/sconce.wasm", "node_modules/sconce/dist/sconce.wasm", "wasm"),
    ...library,
  ];
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = (modules = [${modules.join(", ")}],
    compatibilityDate = "2025-01-01"))],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")]
);
`;
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}

/** Asks until the server answers; what is wrong with it afterwards is the answer's affair. */
async function post(url: string, body: Uint8Array): Promise<Response> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await fetch(url, { method: "POST", body: body as BodyInit });
    } catch (error) {
      if (attempt === 100) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}

test("an edge function lowers and runs mlp in workerd", async () => {
  const port = await freePort();
  writeFileSync(join(folder, "config.capnp"), workerConfig(port));
  const server = spawn(host("workerd"), ["serve", "config.capnp"], {
    cwd: folder,
    stdio: ["ignore", "ignore", "pipe"],
  });
  let log = "";
  server.stderr.on("data", (chunk: Buffer) => (log += chunk.toString()));
  try {
    const url = `http://127.0.0.1:${port}/`;
    for (const file of [readFileSync(modelPath("mlp.pt2")), deflated("mlp.pt2")]) {
      const response = await post(url, file);
      assert.equal(response.status, 200, `${await response.clone().text()} ${log}`);
      const answer = (await response.json()) as { shape: number[]; data: number[] };
      assert.deepEqual(answer.shape, [4, 10]);
      const row = answer.data.slice(0, 10);
      assert.ok(Math.abs(row.reduce((sum, x) => sum + x, 0) - 1) < 1e-5, "a softmax row sums to 1");
    }
    const broken = await post(url, new Uint8Array(100));
    assert.equal(broken.status, 400);
    assert.equal(((await broken.json()) as { code: string }).code, "format");
  } finally {
    server.kill();
  }
});
