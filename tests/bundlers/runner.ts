// Builds a case in an empty folder, from the packed package, and gives what the program answers.
import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium, type Browser } from "playwright-core";
import type { Case } from "./cases.js";

export const root = fileURLToPath(new URL("../../../", import.meta.url)).replace(/\/$/, "");

export type { Server };

const FLAGS = ["--headless", "--no-sandbox", "--disable-quic", "--disable-background-networking"];
const TYPES: Record<string, string> = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".wasm": "application/wasm",
};
const MINUTES = 60_000;

/** The package as npm publishes it. */
export function pack(folder: string): string {
  const args = ["pack", "--silent", "--ignore-scripts", "--pack-destination", folder];
  return join(folder, execFileSync("npm", args, { cwd: root, encoding: "utf8" }).trim());
}

/** The path of another JavaScript host, installed on first use. */
export function host(name: string): string {
  const script = join(root, "tools/runtime.sh");
  return execFileSync("bash", [script, name], { encoding: "utf8" }).trim().split("\n").at(-1)!;
}

function environment({ hosts = [] }: Case): NodeJS.ProcessEnv {
  const paths = Object.fromEntries(hosts.map((name) => [name.toUpperCase(), host(name)]));
  const quiet = { NEXT_TELEMETRY_DISABLED: "1", ASTRO_TELEMETRY_DISABLED: "1", CI: "1" };
  // These variables are for the children of a test runner, and not for a bundler.
  const { NODE_TEST_CONTEXT: _, NODE_OPTIONS: __, ...rest } = process.env;
  return { ...rest, ...quiet, ...paths };
}

/** Runs a shell command; what it printed is part of the error if it fails. */
function shell(command: string, cwd: string, env: NodeJS.ProcessEnv): string {
  try {
    return execFileSync("bash", ["-ec", command], {
      cwd,
      env,
      encoding: "utf8",
      stdio: "pipe",
      timeout: 5 * MINUTES,
    });
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    throw new Error(`${command}\n${`${stdout}${stderr}`.slice(-4000)}`);
  }
}

export function write(folder: string, files: Case["files"]): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
}

export function install(folder: string, packages: Case["packages"], tarball: string): void {
  writeFileSync(join(folder, "package.json"), '{ "private": true, "type": "module" }\n');
  const names = Object.entries(packages).map(([name, version]) => `${name}@${version}`);
  const args = ["install", "--no-audit", "--no-fund", "--prefer-offline", "--save-exact"];
  execFileSync("npm", [...args, ...names, tarball], { cwd: folder, stdio: "pipe" });
}

/** A server of static files, as plain as they come. */
export async function serve(folder: string): Promise<Server> {
  const server = createServer((request, response) => {
    let path = join(folder, decodeURIComponent(new URL(request.url!, "http://x").pathname));
    try {
      if (statSync(path).isDirectory()) path = join(path, "index.html");
      const body = readFileSync(path);
      response.writeHead(200, {
        "Access-Control-Allow-Origin": "*",
        "Content-Type": TYPES[extname(path)] ?? "application/octet-stream",
      });
      response.end(body);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}

export const urlOf = (server: Server): string =>
  `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;

/** Waits until something answers there. */
async function answering(url: string, child: ChildProcess): Promise<void> {
  for (let attempt = 0; attempt < 300; attempt++) {
    if (child.exitCode !== null) throw new Error(`the server ended with ${child.exitCode}`);
    if (await fetch(url).then(Boolean, () => false)) return;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  throw new Error(`nothing answers at ${url}`);
}

let browser: Promise<Browser> | undefined;

function started(): Promise<Browser> {
  const executablePath = process.env["CHROME_PATH"] ?? "chromium";
  return (browser ??= chromium.launch({ executablePath, args: FLAGS }));
}

export async function closeBrowser(): Promise<void> {
  await (await browser)?.close();
}

/** The text of a page that says when it is done. A dev server may load it anew meanwhile. */
export async function visit(url: string): Promise<string> {
  const page = await (await started()).newPage();
  const faults: string[] = [];
  page.on("pageerror", (error) => faults.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error") faults.push(message.text());
  });
  try {
    await page.goto(url);
    // A policy without 'unsafe-eval' refuses what waitForFunction does from its second look on.
    const title = (): Promise<string> => page.title().catch(() => "while it loads anew");
    for (const end = Date.now() + MINUTES; (await title()) !== "done";) {
      if (Date.now() > end) throw new Error(`${url} did not end`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    return await page.innerText("body");
  } catch (error) {
    throw new Error(`${String(error)}\n${faults.join("\n")}`);
  } finally {
    await page.close();
  }
}

interface Outcome {
  answers: string[];
  routes: Record<string, string>;
}

/** Visits a page, and asks the routes of its server. */
async function shown(url: string, routes: readonly string[]): Promise<Outcome> {
  const text = await visit(url);
  const found: Record<string, string> = {};
  for (const route of routes) found[route] = await (await fetch(url + route)).text();
  return { answers: text.trim().split("; "), routes: found };
}

async function served(
  folder: string,
  page: NonNullable<Case["page"]>,
  routes: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<Outcome> {
  if ("folder" in page) {
    const server = await serve(join(folder, page.folder));
    return shown(urlOf(server), routes).finally(() => {
      server.close();
      server.closeAllConnections();
    });
  }
  const options = { cwd: folder, env, detached: true, stdio: "ignore" } as const;
  const child = spawn("bash", ["-c", page.command], options);
  const url = `http://localhost:${page.port}/`;
  try {
    await answering(url, child);
    return await shown(url, routes);
  } finally {
    // The command's own children, too.
    const ended = new Promise((resolve) => child.once("exit", resolve));
    process.kill(-child.pid!, "SIGKILL");
    await ended;
  }
}

/** Files of the folder that is shown, which must not be there. */
function unwanted(folder: string, { page, absent }: Case): string[] {
  if (!absent || !page || !("folder" in page)) return [];
  const names = readdirSync(join(folder, page.folder), { recursive: true, encoding: "utf8" });
  return names.filter((name) => absent.test(name));
}

/** Installs, builds and runs a case. */
export async function outcomeOf(
  one: Case,
  tarball: string,
): Promise<Outcome & { extra: string[] }> {
  const folder = mkdtempSync(join(tmpdir(), "sconce-bundler-"));
  const env = environment(one);
  try {
    write(folder, one.files);
    install(folder, one.packages, tarball);
    for (const command of one.build ?? []) shell(command, folder, env);
    const extra = unwanted(folder, one);
    if (one.page)
      return { ...(await served(folder, one.page, Object.keys(one.routes ?? {}), env)), extra };
    const answers = shell(one.run!, folder, env).trim().split("\n");
    return { answers, routes: {}, extra };
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}
