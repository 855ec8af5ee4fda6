// The class of a value by its tag. `instanceof` fails on values of another realm: frames, Electron,
// jsdom and edge runtimes each have classes of their own.

/** The tag of a value: "Uint8Array", "Response", "Object". */
export const tagOf = (value: unknown): string =>
  Object.prototype.toString.call(value).slice("[object ".length, -1);

/** True for an object of any class. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null;

/** Is the value a Uint8Array of any realm, Node's Buffer too? */
export const isBytes = (value: unknown): value is Uint8Array => tagOf(value) === "Uint8Array";

/** True for an ArrayBuffer of any realm, but not for a SharedArrayBuffer. */
export const isArrayBuffer = (value: unknown): value is ArrayBuffer =>
  tagOf(value) === "ArrayBuffer";

/** Is the value a Blob or a File of any realm? */
export const isBlob = (value: unknown): value is Blob =>
  tagOf(value) === "Blob" || tagOf(value) === "File";

/** Is the value a URL object of any realm, or what a bundler puts in its place? */
export const isUrl = (value: unknown): value is URL =>
  tagOf(value) === "URL" ||
  (isObject(value) && typeof value["href"] === "string" && "searchParams" in value);

/** Is the value a Response of any realm? */
export const isResponse = (value: unknown): value is Response => tagOf(value) === "Response";

/** Is the value a WebAssembly.Module of any realm? */
export const isModule = (value: unknown): value is WebAssembly.Module =>
  tagOf(value) === "WebAssembly.Module";
