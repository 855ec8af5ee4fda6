// Makes an instance of the module from a URL, bytes, a Response, or a ready Module. Edge functions may
// not compile from bytes, and pages may only where their policy says 'wasm-unsafe-eval'.
import { bindExports, type RawExports, type RawImports } from "./border/abi.gen.js";
import { badArgument } from "./base/check.js";
import { messageOf, SconceError, withCause } from "./base/errors.js";
import { hostModule } from "./base/host.js";
import { ENGINE, type Build } from "./builds.js";
import { FLAVOURS, sharedMemory, type Choice } from "./flavour.js";
import { nextToScript, hasFileSystem, locateAsset } from "./locate.js";
import { absoluteUrl } from "./source/address.js";
import { isArrayBuffer, isModule, isResponse, isUrl } from "./base/tags.js";
import { threadImports } from "./threads/serve.js";
import type { ModuleFlavour, WasmSource } from "./types/index.js";

const SOURCES = "a URL, bytes, a Response or a WebAssembly.Module";
const hintOf = (file: string): string =>
  `Serve ${file} of this package next to the script that asks for it, or pass it as 'wasm': its URL, ` +
  "its bytes, a Response, or a compiled module.";
const nodeHintOf = (file: string): string =>
  `Put ${file} of this package next to the program, or pass its bytes as 'wasm'. ` +
  "Programs in one file import it: docs/bundlers.md says how.";
const scriptHintOf = (file: string): string =>
  `Build the script as an ES module (esbuild: --format=esm), or pass ${file} as 'wasm'.`;
const POLICY_HINT =
  "Add 'wasm-unsafe-eval' to script-src of the page's Content-Security-Policy, or pass a compiled module.";

type FileSystem = typeof import("node:fs");

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

/** Gives the address of a flavour of this package; undefined where the script has none. */
export type AddressOf = (flavour: ModuleFlavour) => string | undefined;

/** The origin of a module: a build, and the addresses of its files unless the caller has the module. */
export interface Origin {
  readonly build: Build;
  readonly of: AddressOf | undefined;
}

/** A flavour of the module of this package. */
async function ofPackage(
  flavour: ModuleFlavour,
  { files }: Build,
  of: AddressOf,
): Promise<WebAssembly.Module> {
  const address = of(flavour);
  if (address !== undefined && /^(https?|blob|data):/.test(address)) return ofAddress(address);
  if (!hasFileSystem()) {
    if (address !== undefined) return ofAddress(address);
    throw new SconceError(
      "io",
      "the engine could not be loaded: this script does not know its own address",
      scriptHintOf(files.simd),
    );
  }
  const found = locateAsset(files[flavour], address);
  if (found !== undefined) return ofFile(found);
  throw new SconceError(
    "io",
    `the engine could not be loaded: there is no ${files[flavour]} next to this program`,
    nodeHintOf(files.simd),
  );
}

/** The best flavour that is there. A program may have taken along no more than the baseline. */
async function bestOfPackage(
  { flavours, reasons }: Choice,
  build: Build,
  of: AddressOf,
): Promise<Compiled> {
  const found = [...reasons];
  for (const flavour of flavours.slice(0, -1)) {
    try {
      return { module: await ofPackage(flavour, build, of), reasons: found };
    } catch (error) {
      found.push(`${build.files[flavour]} could not be loaded: ${messageOf(error)}`);
    }
  }
  return { module: await ofPackage(flavours.at(-1)!, build, of), reasons: found };
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

/** A compiled module, and the reasons against faster flavours. */
export interface Compiled {
  readonly module: WebAssembly.Module;
  readonly reasons: readonly string[];
}

/**
 * Compiles the module, unless it is ready; undefined stands for the best flavour of this package, by its
 * address. Edge functions have no addresses.
 */
export async function compileModule(
  source: WasmSource | undefined,
  choice: Choice,
  { build, of }: Origin,
): Promise<Compiled> {
  try {
    if (source === undefined && !of) throw notGiven(build);
    if (source === undefined) return await bestOfPackage(choice, build, of!);
    const module = isModule(source) ? source : await compile(source as Compilable);
    return { module, reasons: ["'wasm' names the module"] };
  } catch (error) {
    throw notLoaded(error, build);
  }
}

function notGiven({ create, files }: Build): SconceError {
  return new SconceError(
    "io",
    "the engine could not be loaded: an edge function imports the module, and passes it",
    `Write \`import wasm from "sconce/${files.simd}"\` and \`${create}({ wasm })\`: docs/edge-functions.md.`,
  );
}

function notLoaded(error: unknown, { files }: Build): SconceError {
  if (error instanceof SconceError) return error;
  const message = messageOf(error);
  const hint = /unsafe-eval|content security policy/i.test(message)
    ? POLICY_HINT
    : hintOf(files.simd);
  return withCause(
    new SconceError("io", `the engine could not be loaded: ${message}`, hint),
    error,
  );
}

/** A module that runs. */
export interface Started extends Compiled {
  readonly raw: RawExports;
  /** The memory, if threads may share it. */
  readonly memory: WebAssembly.Memory | undefined;
  readonly flavour: ModuleFlavour;
}

/** Throws unless the instance has what the build calls. */
function check({ exports }: WebAssembly.Instance, build: Build): void {
  if (!("job_open" in exports)) throw new Error("it is another module");
  if (build.exports in exports) return;
  throw new SconceError(
    "argument",
    "'wasm' is a module that only runs programs",
    `Pass it to createRuntime() of "sconce/run", or pass ${ENGINE.files.simd}.`,
  );
}

const importsMemory = (module: WebAssembly.Module): boolean =>
  WebAssembly.Module.imports(module).some(({ kind }) => kind === "memory");

/** Compiles (unless ready) and starts the module with our imports. */
export async function instantiate(
  source: WasmSource | undefined,
  choice: Choice,
  origin: Origin,
  imports: RawImports,
): Promise<Started> {
  const { module, reasons } = await compileModule(source, choice, origin);
  try {
    const memory = importsMemory(module) ? (choice.memory ?? sharedMemory()) : undefined;
    const instance = await WebAssembly.instantiate(module, {
      sconce: imports as unknown as Record<string, WebAssembly.ImportValue>,
      ...(memory ? { env: threadImports(memory) } : {}),
    });
    check(instance, origin.build);
    const raw = bindExports(instance, memory);
    return { module, memory, reasons, raw, flavour: FLAVOURS[raw.flavour()]! };
  } catch (error) {
    throw notLoaded(error, origin.build);
  }
}
