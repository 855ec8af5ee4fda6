// Makes an instance of the module from a URL, bytes, a Response, or a ready Module. Edge functions may
// not compile from bytes, and pages may only where their policy says 'wasm-unsafe-eval'.
import { bindExports, type RawExports, type RawImports } from "./border/abi.gen.js";
import { badArgument } from "./base/check.js";
import { messageOf, SconceError, withCause } from "./base/errors.js";
import { hostModule } from "./base/host.js";
import { nextToScript, hasFileSystem, isCached, locateAsset } from "./locate.js";
import { absoluteUrl } from "./source/address.js";
import { isArrayBuffer, isModule, isResponse, isUrl } from "./base/tags.js";
import type { WasmSource } from "./types/index.js";

const FILE = "sconce.wasm";
const SOURCES = "a URL, bytes, a Response or a WebAssembly.Module";
const HINT =
  "Serve sconce.wasm of this package next to the script that asks for it, or pass it as 'wasm': its URL, " +
  "its bytes, a Response, or a compiled module.";
const NODE_HINT =
  "Put sconce.wasm of this package next to the program, or pass its bytes as 'wasm'. " +
  "Programs in one file import it: docs/bundlers.md says how.";
const SCRIPT_HINT =
  "Build the script as an ES module (esbuild: --format=esm), or pass sconce.wasm as 'wasm'.";
const POLICY_HINT =
  "Add 'wasm-unsafe-eval' to script-src of the page's Content-Security-Policy, or pass a compiled module.";

type FileSystem = typeof import("node:fs");

/**
 * The address of sconce.wasm in the folder of this script: the one literal that bundlers look for. They may put
 * a relative address in its place.
 */
function nextToThis(): string | undefined {
  if (isCached) return nextToScript(FILE);
  try {
    return new URL("./sconce.wasm", import.meta.url).href;
  } catch {
    return undefined; // a CommonJS bundle, whose scripts have no address
  }
}

async function ofResponse(response: unknown): Promise<WebAssembly.Module> {
  if (!isResponse(response)) throw badArgument("'wasm'", SOURCES, response);
  if (!response.ok) throw new Error(`${response.url} answered ${response.status}`);
  // Streaming compiles while the bytes arrive, but insists on the right content type.
  const type = response.headers.get("content-type") ?? "";
  if (type.startsWith("application/wasm") && "compileStreaming" in WebAssembly) {
    return WebAssembly.compileStreaming(response);
  }
  return WebAssembly.compile(await response.arrayBuffer());
}

function ofFile(address: string): Promise<WebAssembly.Module> {
  const fs = hostModule<FileSystem>("node:fs");
  if (!fs) throw new Error(`${address} cannot be read here`);
  return WebAssembly.compile(fs.readFileSync(new URL(address)));
}

async function ofAddress(address: string): Promise<WebAssembly.Module> {
  if (address.startsWith("file:")) return ofFile(address);
  const response = await fetch(address).catch((error: unknown) => {
    throw new Error(`${address} cannot be loaded: ${messageOf(error)}`, { cause: error });
  });
  return ofResponse(response);
}

/** The module of this package. */
async function ofPackage(): Promise<WebAssembly.Module> {
  const address = nextToThis();
  if (address !== undefined && /^(https?|blob|data):/.test(address)) return ofAddress(address);
  if (!hasFileSystem()) {
    if (address !== undefined) return ofAddress(address);
    throw new SconceError(
      "io",
      "the engine could not be loaded: this script does not know its own address",
      SCRIPT_HINT,
    );
  }
  const found = locateAsset(FILE, address);
  if (found !== undefined) return ofFile(found);
  throw new SconceError(
    "io",
    `the engine could not be loaded: there is no ${FILE} next to this program`,
    NODE_HINT,
  );
}

/** A string is an address: relative to the page where there is one, else to this script. */
function addressOf(given: string): string {
  const address = absoluteUrl(given);
  return URL.canParse(address) ? address : (nextToScript(given) ?? given);
}

// To the type system a Module is an empty object that everything else satisfies, so the rest is named.
type Compilable = URL | string | BufferSource | Response | Promise<Response>;

async function compile(source: Compilable): Promise<WebAssembly.Module> {
  if (isArrayBuffer(source) || ArrayBuffer.isView(source))
    return WebAssembly.compile(source as BufferSource);
  if (typeof source === "string") return ofAddress(addressOf(source));
  // The address as it is: bundlers make objects whose address is relative to the page.
  if (isUrl(source)) return ofAddress(source.href);
  return ofResponse(await source);
}

/** Compiles the module, unless it is ready; undefined stands for sconce.wasm of this package. */
export async function compileModule(source: WasmSource | undefined): Promise<WebAssembly.Module> {
  try {
    if (source === undefined) return await ofPackage();
    return isModule(source) ? source : await compile(source as Compilable);
  } catch (error) {
    throw notLoaded(error);
  }
}

function notLoaded(error: unknown): SconceError {
  if (error instanceof SconceError) return error;
  const message = messageOf(error);
  const hint = /unsafe-eval|content security policy/i.test(message) ? POLICY_HINT : HINT;
  return withCause(
    new SconceError("io", `the engine could not be loaded: ${message}`, hint),
    error,
  );
}

/** Compiles (unless ready) and starts the module with our imports. */
export async function instantiate(
  source: WasmSource | undefined,
  imports: RawImports,
): Promise<RawExports> {
  const module = await compileModule(source);
  try {
    const instance = await WebAssembly.instantiate(module, {
      sconce: imports as unknown as Record<string, WebAssembly.ImportValue>,
    });
    if (!("job_open" in instance.exports)) throw new Error("it is another module");
    return bindExports(instance);
  } catch (error) {
    throw notLoaded(error);
  }
}
