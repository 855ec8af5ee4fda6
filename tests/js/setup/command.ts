// Runs the built command in a folder of its own, for the tests of it.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { fileURLToPath } from "node:url";

export const cli = fileURLToPath(new URL("../../../../dist/cli.js", import.meta.url));
/** The folder of the command; it goes with the tests of the file that imports this. */
export const folder = mkdtempSync(join(tmpdir(), "sconce-cli-"));
after(() => rmSync(folder, { recursive: true, force: true }));

export interface Result {
  status: number | null;
  signal: string | null;
  stdout: string;
  stderr: string;
}

export function sconce(...args: string[]): Result {
  return node(cli, ...args);
}

export function node(...args: string[]): Result {
  const { status, signal, stdout, stderr } = spawnSync(process.execPath, args, {
    cwd: folder,
    encoding: "utf8",
    timeout: 20_000,
  });
  return { status, signal, stdout, stderr };
}
