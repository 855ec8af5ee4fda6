// Makes an instance of the module from whatever the host has: a URL, bytes, a Response, or a ready
// Module. Edge functions may not compile from bytes, pages may only where their policy says
// 'wasm-unsafe-eval'; neither needs anything else from us.
import { bindExports, type RawExports, type RawImports } from "./abi.gen.js";
import { badArgument } from "./check.js";
import { messageOf, SconceError } from "./errors.js";
import type { WasmSource } from "./types.js";

// To the type system a Module is an empty object that everything else satisfies, so the rest is named.
type Compilable = URL | string | BufferSource | Response | Promise<Response>;

const HINT =
  "Pass the sconce.wasm of this package: its URL, its bytes, a Response, or a compiled module.";

async function ofResponse(response: unknown): Promise<WebAssembly.Module> {
  if (!(response instanceof Response))
    throw badArgument("'wasm'", "a URL, bytes, a Response or a WebAssembly.Module", response);
  if (!response.ok) throw new Error(`${response.url} answered ${response.status}`);
  // Streaming compiles while the bytes arrive, but insists on the right content type.
  const type = response.headers.get("content-type") ?? "";
  if (type.startsWith("application/wasm") && "compileStreaming" in WebAssembly) {
    return WebAssembly.compileStreaming(response);
  }
  return WebAssembly.compile(await response.arrayBuffer());
}

async function compile(source: Compilable): Promise<WebAssembly.Module> {
  if (source instanceof ArrayBuffer || ArrayBuffer.isView(source)) {
    return WebAssembly.compile(source as BufferSource);
  }
  if (typeof source === "string" || source instanceof URL) {
    const url = new URL(source, import.meta.url);
    if (url.protocol === "file:") {
      const { readFile } = await import("node:fs/promises");
      return WebAssembly.compile(await readFile(url));
    }
    return ofResponse(await fetch(url));
  }
  return ofResponse(await source);
}

/** Compiles (unless ready) and starts the module with our imports. */
export async function instantiate(source: WasmSource, imports: RawImports): Promise<RawExports> {
  try {
    const module =
      source instanceof WebAssembly.Module ? source : await compile(source as Compilable);
    const instance = await WebAssembly.instantiate(module, {
      sconce: imports as unknown as Record<string, WebAssembly.ImportValue>,
    });
    if (!("job_open" in instance.exports)) throw new Error("it is another module");
    return bindExports(instance);
  } catch (error) {
    if (error instanceof SconceError) throw error;
    const failed = new SconceError(
      "io",
      `the engine could not be loaded: ${messageOf(error)}`,
      HINT,
    );
    failed.cause = error;
    throw failed;
  }
}
