// The built page in a real Chromium, and what the tests watch on every page: requests that leave
// the origin, violations of the content policy, errors of scripts.
import { readFileSync } from "node:fs";
import { buffer } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import {
  chromium,
  type Browser,
  type BrowserContextOptions,
  type BrowserServer,
  type Page,
} from "playwright-core";

const root = new URL("../../../", import.meta.url);

export const inRoot = (path: string): string => fileURLToPath(new URL(path, root));

export const readJson = <T>(path: string): T => JSON.parse(readFileSync(inRoot(path), "utf8")) as T;

interface Server {
  url: string;
  close(): void;
}

const args = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--disable-background-networking",
  "--use-fake-device-for-media-stream",
  "--use-fake-ui-for-media-stream",
];

/** A page with everything about it that went wrong. */
export interface Visit {
  page: Page;
  faults: string[];
  close(): Promise<void>;
}

export interface Host {
  url: string;
  visit(options?: BrowserContextOptions, address?: string): Promise<Visit>;
  close(): Promise<void>;
}

function watch(page: Page, origin: string, faults: string[]): void {
  page.on("pageerror", (error) => faults.push(`script: ${error.message}`));
  page.on("console", (message) => {
    if (message.type() === "error") faults.push(`console: ${message.text()}`);
  });
  page.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(origin) && !/^(blob|data):/.test(url)) faults.push(`request: ${url}`);
  });
}

const executablePath = process.env["CHROME_PATH"] ?? "chromium";

/** Starts the browser at a path, for all test files to share by its address. */
export function shareBrowser(path: string): Promise<BrowserServer> {
  return chromium.launchServer({ executablePath: path, args });
}

/** The browser that SCONCE_BROWSER is the address of, or one of our own, which CHROME_PATH names. */
export function startBrowser(): Promise<Browser> {
  const shared = process.env["SCONCE_BROWSER"];
  return shared ? chromium.connect(shared) : chromium.launch({ executablePath, args });
}

/** Serves dist/web and starts a browser. */
export async function startHost(): Promise<Host> {
  const { serve } = (await import(new URL("dist/cli/studio/serve.js", root).href)) as {
    serve(folder: string): Promise<Server>;
  };
  const server = await serve(inRoot("dist/web"));
  const browser = await startBrowser();
  return {
    url: server.url,
    async visit(options = {}, address = "") {
      const context = await browser.newContext({ acceptDownloads: true, ...options });
      const page = await context.newPage();
      const faults: string[] = [];
      watch(page, server.url, faults);
      await page.goto(server.url + address);
      return { page, faults, close: () => context.close() };
    },
    async close() {
      await browser.close();
      server.close();
    },
  };
}

/** Drops files on the page, as a hand would. */
export async function drop(page: Page, files: Record<string, Uint8Array>): Promise<void> {
  const list = Object.entries(files).map(([name, bytes]) => [
    name,
    Buffer.from(bytes).toString("base64"),
  ]);
  const transfer = await page.evaluateHandle((items) => {
    const data = new DataTransfer();
    for (const [name, text] of items) {
      const bytes = Uint8Array.from(atob(text!), (c) => c.charCodeAt(0));
      data.items.add(new File([bytes], name!));
    }
    return data;
  }, list);
  await page.dispatchEvent("body", "drop", { dataTransfer: transfer });
}

/** Drops files with a model among them, and waits until it has taken the place of what was open. */
export async function dropModel(page: Page, files: Record<string, Uint8Array>): Promise<void> {
  // Sent before the drop: the page shows what was open until it has looked into the files.
  const gone = page.evaluate(
    () =>
      new Promise<void>((resolve) => {
        const look = (): void => {
          if (document.querySelector('.step.is-done[data-step="run"]')) return;
          observer.disconnect();
          resolve();
        };
        const observer = new MutationObserver(look);
        observer.observe(document.body, { subtree: true, childList: true, attributes: true });
        look();
      }),
  );
  await drop(page, files);
  await gone;
  await lowered(page);
}

/** The bytes of the next download that `act` starts. */
export async function downloaded(page: Page, act: () => Promise<void>): Promise<Buffer> {
  const waiting = page.waitForEvent("download");
  await act();
  // A browser that is shared has its files where this process may not look.
  return buffer(await (await waiting).createReadStream());
}

/** Waits until lowering and loading are done. */
export async function lowered(page: Page): Promise<void> {
  await page.waitForSelector('.step.is-done[data-step="run"]', { timeout: 60_000 });
}

/** Waits until the story is written. */
export async function written(page: Page): Promise<void> {
  const text = '.talk[data-status="ready"] .story-text:not(.soft)';
  await page.waitForSelector(text, { timeout: 120_000 });
}

/** Steps that are cut off or lie over each other, and what sticks out of the screen. */
export function misplaced(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const found: string[] = [];
    const { scrollWidth } = document.documentElement;
    if (scrollWidth > innerWidth) found.push(`page: ${scrollWidth} of ${innerWidth}`);
    const steps = [...document.querySelectorAll<HTMLElement>(".step button")];
    const boxes = steps.map((step) => step.getBoundingClientRect());
    boxes.forEach((box, i) => {
      const name = steps[i]!.querySelector<HTMLElement>(".name")!;
      if (box.left < 0 || box.right > innerWidth || name.scrollWidth > name.clientWidth + 1)
        found.push(`${name.innerText}: cut off`);
      const next = boxes[i + 1];
      if (next && next.top < box.bottom - 1 && next.left < box.right - 1)
        found.push(`${name.innerText}: under the next`);
    });
    return found;
  });
}

/** A float32 array as numpy.save writes it. */
export function npy(shape: readonly number[], value: number): Buffer {
  const header = `{'descr': '<f4', 'fortran_order': False, 'shape': (${shape.join(", ")},), }`;
  const head = Buffer.concat([
    Buffer.from("\x93NUMPY\x01\x00", "latin1"),
    Buffer.from([118, 0]),
    Buffer.from(`${header.padEnd(117)}\n`),
  ]);
  const count = shape.reduce((product, size) => product * size, 1);
  return Buffer.concat([head, Buffer.from(new Float32Array(count).fill(value).buffer)]);
}

/** mlp_dyn for larger batches, written over what the file says about itself. */
export function mlpWithBatch(most: number): Uint8Array {
  const bytes = readFileSync(inRoot("tests/models/mlp_dyn.pt2"));
  const old = '{"min_val": 1, "max_val": 64}';
  const version = '"torch_version": "2.14.1+debian"';
  const at = bytes.indexOf(old);
  const end = bytes.indexOf(version, at);
  const range = JSON.stringify({ min_val: 1, max_val: most });
  const text = `${range}${bytes.toString("latin1", at + old.length, end)}"torch_version": ""`;
  bytes.write(text.padEnd(end + version.length - at), at, "latin1");
  return bytes;
}
