// sconce studio: the page, served from the installed package, or from the checkout with its samples.
import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { SconceError } from "../../base/errors.js";
import { unpackFiles } from "./archive.js";
import { defineCommand, type ValuesOf } from "../shell/command.js";
import { EXIT, UsageError } from "../usage.js";
import { printJson } from "../print/json.js";
import { serve, serveAt } from "./serve.js";
import { archiveSite, folderSite, withFolder, withModules, type Site } from "./site.js";
import { isJson, note, say } from "../print/terminal.js";

const PORT = 8000;

/** Flags of commands that serve pages. */
export const SERVER_FLAGS = {
  port: {
    type: "string",
    value: "N",
    text: `the port on this machine (${PORT}, or a free one if that is taken); 0 is any free one`,
  },
  open: { type: "boolean", text: "open the browser as well" },
} as const;

function portOf(text: string): number {
  if (/^\d+$/.test(text) && Number(text) <= 65535) return Number(text);
  throw new UsageError(`--port takes a number from 0 to 65535, not '${text}'`);
}

/** How the machine opens an address in the browser of its user. */
const OPENERS: Partial<Record<NodeJS.Platform, readonly string[]>> = {
  darwin: ["open"],
  win32: ["explorer.exe"],
};

function openBrowser(url: string): void {
  const [command, ...args] = OPENERS[process.platform] ?? ["xdg-open"];
  spawn(command!, [...args, url], { stdio: "ignore", detached: true })
    .on("error", () => note(`no browser could be opened (${command}); open the address yourself`))
    .unref();
}

/** Resolves when the user, or who started this, has had enough. */
function untilStopped(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => resolve());
  });
}

const inDist = (name: string): string => fileURLToPath(new URL(`../../${name}`, import.meta.url));

/** The documentation, as one compressed file in a checkout and in the package. */
export function docsSite(): Site {
  const archive = inDist("docs.br");
  if (!existsSync(archive))
    throw new SconceError(
      "io",
      "the pages of the documentation are missing from this installation",
      "Install the package again. In a checkout of Sconce, run npm run build.",
    );
  return archiveSite(unpackFiles(readFileSync(archive)));
}

/** The page: the folder of a checkout, with its samples, or the archive of the package. */
function pageSite(): Site {
  const [folder, archive] = [inDist("web"), inDist("studio.br")];
  if (existsSync(join(folder, "index.html"))) return folderSite(folder);
  if (!existsSync(archive))
    throw new SconceError(
      "io",
      "the page of the studio is missing from this installation",
      "Install the package again. In a checkout of Sconce, run npm run build.",
    );
  // The package has the module once, for the library and the page, and the documentation once.
  const page = withModules(archiveSite(unpackFiles(readFileSync(archive))), inDist("."));
  return withFolder(page, "/docs", docsSite);
}

/** Serves a site until somebody stops it. */
export async function serveSite(
  site: Site,
  { kind, title }: { kind: string; title: string },
  values: ValuesOf<typeof SERVER_FLAGS>,
): Promise<number> {
  const port = values.port === undefined ? undefined : portOf(values.port);
  const server = await (port === undefined ? serveAt(site, PORT) : serve(site, port)).catch(
    (error: NodeJS.ErrnoException) => {
      const why = error.code === "EADDRINUSE" ? "is taken" : `cannot be used (${error.code})`;
      throw new SconceError(
        "io",
        `port ${port ?? PORT} ${why}`,
        "Leave out --port to take a free one.",
      );
    },
  );
  const stopped = untilStopped();
  if (isJson()) printJson({ kind, url: server.url });
  say(`${title} at ${server.url} (Ctrl-C stops it)`);
  if (values.open) openBrowser(server.url);
  await stopped;
  server.close();
  return EXIT.done;
}

/** The command sconce studio. */
export const STUDIO = defineCommand({
  name: "studio",
  summary: "serves a page for your browser that lowers, shows and runs models",
  examples: ["sconce studio", "sconce studio --port 8080 --open"],
  files: "",
  flags: SERVER_FLAGS,
  run: (values) => serveSite(pageSite(), { kind: "studio", title: "Sconce Studio is" }, values),
});
