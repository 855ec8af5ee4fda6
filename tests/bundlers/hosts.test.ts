// The packed package where there is no bundler: scripts of another origin, service workers and shared
// workers, edge-runtime, and the first Node that is supported.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { answerOf, nodeScript, pageOf, pageScript, workModule } from "./programs.js";
import {
  closeBrowser,
  host,
  install,
  pack,
  root,
  serve,
  urlOf,
  visit,
  write,
  type Server,
} from "./runner.js";

const folder = mkdtempSync(join(tmpdir(), "sconce-hosts-"));
const dist = join(folder, "node_modules/sconce/dist");
const servers: Server[] = [];

before(() => {
  install(folder, { esbuild: "0.28.2", "edge-runtime": "4.0.1" }, pack(folder));
});
after(async () => {
  await closeBrowser();
  for (const server of servers) {
    server.close();
    server.closeAllConnections();
  }
  rmSync(folder, { recursive: true, force: true });
});

async function served(path: string): Promise<string> {
  const server = await serve(path);
  servers.push(server);
  return urlOf(server);
}

/** Writes a page and gives its answers. */
async function answers(name: string, files: Record<string, string>): Promise<string[]> {
  write(join(folder, name), { "index.html": pageOf("main.js"), ...files });
  return (await visit(await served(join(folder, name)))).trim().split("; ");
}

for (const file of ["sconce.js", "index.js"]) {
  test(`a page loads ${file} from another origin, and its worker too`, async () => {
    const address = `${await served(dist)}${file}`;
    const module = (name: "client" | "engine"): string => {
      const create = name === "client" ? "createClient" : "createEngine";
      return workModule(root, name, { imports: `import { ${create}, tensor } from "${address}";` });
    };
    const found = await answers(`elsewhere-${file}`, {
      "client.js": module("client"),
      "engine.js": module("engine"),
      "main.js": pageScript("./client.js", "./engine.js"),
    });
    assert.deepEqual(found, [answerOf("client"), answerOf("engine")]);
  });
}

/** A worker of a page that has no workers of its own: it posts the engine's answer, and a client's. */
const scopeScript = `
import { work as client } from "./client.js";
import { work as engine } from "./engine.js";
const answer = async (port) => port.postMessage(await engine() + "; " + (await client()).split(" SconceError")[0]);
self.onconnect = (event) => answer(event.ports[0]);
self.onmessage = (event) => answer(event.source);
self.oninstall = () => self.skipWaiting();
self.onactivate = (event) => event.waitUntil(self.clients.claim());
`;
const PAGE_OF = {
  "a shared worker": `
const worker = new SharedWorker("scope.js", { type: "module" });
worker.port.onmessage = ({ data }) => { document.body.textContent = data; document.title = "done"; };
`,
  "a service worker": `
navigator.serviceWorker.onmessage = ({ data }) => { document.body.textContent = data; document.title = "done"; };
await navigator.serviceWorker.register("scope.js", { type: "module" });
(await navigator.serviceWorker.ready).active.postMessage("go");
`,
};

for (const [name, script] of Object.entries(PAGE_OF)) {
  test(`${name} has an engine, and says why there is no client`, async () => {
    const library = Object.fromEntries(
      ["sconce.js", "worker.js"].map((file) => [file, readFileSync(join(dist, file), "utf8")]),
    );
    const imported = (create: string): string => `import { ${create}, tensor } from "./sconce.js";`;
    write(join(folder, name), library);
    writeFileSync(join(folder, name, "sconce.wasm"), readFileSync(join(dist, "sconce.wasm")));
    const [engine, client] = await answers(name, {
      "main.js": script,
      "scope.js": scopeScript,
      "client.js": workModule(root, "client", { imports: imported("createClient") }),
      "engine.js": workModule(root, "engine", { imports: imported("createEngine") }),
    });
    assert.equal(engine, answerOf("engine"));
    assert.match(client!, /^failed: unsupported: createClient\(\) needs workers.*createEngine\(\)/);
  });
}

test("a content policy that forbids WebAssembly is named, with what it has to allow", async () => {
  const policy = (script: string): string =>
    `<meta http-equiv="Content-Security-Policy" content="script-src 'self' ${script}" />`;
  for (const [allowed, wanted] of [
    ["'wasm-unsafe-eval'", /^ok engine/],
    ["", /^failed: io: the engine could not be loaded: .* Add 'wasm-unsafe-eval' to script-src/],
  ] as const) {
    const name = `policy${allowed.length}`;
    const imports = `import { createEngine, tensor } from "./sconce.js";`;
    write(join(folder, name), {
      "sconce.js": readFileSync(join(dist, "sconce.js"), "utf8"),
      "engine.js": workModule(root, "engine", { imports }),
    });
    writeFileSync(join(folder, name, "sconce.wasm"), readFileSync(join(dist, "sconce.wasm")));
    const page = pageOf("main.js").replace("<body>", `${policy(allowed)}<body>`);
    const files = { "index.html": page, "main.js": pageScript("./engine.js") };
    const [answer] = await answers(name, files);
    assert.match(answer!, wanted);
  }
});

test("edge-runtime takes a module of another realm", () => {
  write(folder, {
    "engine.js": workModule(root, "engine", { options: "{ wasm: globalThis.sconceModule }" }),
    "edge.js": `import { work } from "./engine.js";\nglobalThis.work = work;\n`,
    "run.mjs": `
import { readFileSync } from "node:fs";
import { EdgeRuntime } from "edge-runtime";
const module = await WebAssembly.compile(readFileSync("node_modules/sconce/dist/sconce.wasm"));
const runtime = new EdgeRuntime({ extend: (context) => Object.assign(context, { sconceModule: module }) });
runtime.evaluate(readFileSync("out/edge.js", "utf8"));
console.log(await runtime.evaluate("work()"));
`,
  });
  const build = ["esbuild", "edge.js", "--bundle", "--format=iife", "--outfile=out/edge.js"];
  execFileSync("npx", [...build, "--log-level=error"], { cwd: folder });
  const text = execFileSync(process.execPath, ["run.mjs"], { cwd: folder, encoding: "utf8" });
  assert.equal(text.trim(), answerOf("engine"));
});

test("the first Node 20 runs engine, client and command, and says how to require", () => {
  const node = host("node20");
  assert.match(execFileSync(node, ["--version"], { encoding: "utf8" }), /^v20\.0\./);
  write(folder, {
    "client.js": workModule(root, "client"),
    "engine.js": workModule(root, "engine"),
    "both.js": nodeScript("./client.js", "./engine.js"),
    "required.cjs": `require("sconce");\n`,
  });
  const run = (...args: string[]): string =>
    execFileSync(node, args, { cwd: folder, encoding: "utf8" }).trim();
  assert.equal(run("both.js"), `${answerOf("client")}\n${answerOf("engine")}`);
  const model = join(root, "tests/models/mlp.pt2");
  assert.match(run(join(dist, "cli.js"), "lower", model, "-o", "mlp.pte"), /^mlp\.pte: /);
  const { status, stderr } = spawnSync(node, ["required.cjs"], { cwd: folder, encoding: "utf8" });
  assert.notEqual(status, 0);
  assert.match(stderr, /await import\("sconce"\).*ERR_REQUIRE_ESM/s);
});

test("this Node requires the package, or is told how to import it", () => {
  write(folder, { "names.cjs": `console.log(Object.keys(require("sconce")).join(" "));\n` });
  const { stdout, stderr } = spawnSync(process.execPath, ["names.cjs"], {
    cwd: folder,
    encoding: "utf8",
  });
  const canRequire = "require_module" in process.features;
  if (canRequire) assert.match(stdout, /\bcreateEngine\b/);
  else assert.match(stderr, /await import\("sconce"\)/);
});
