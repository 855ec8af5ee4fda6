// Reads sources before they are given to an engine, whose calls do not wait.
import type { HostAbortSignal, HostUrl } from "../types/host.js";
import { badArgument, checkTable, mustBe, type Kind } from "../base/check.js";
import { prepareHost } from "../base/host.js";
import { absoluteUrl } from "./address.js";
import { Gathering, HERE } from "./gather.js";
import { isPlace, REQUEST } from "./kinds.js";
import type { FetchOptions, ReadySource, Source } from "../types/index.js";

const MAX_BYTES: Kind = {
  accepts: "a whole number of bytes, 1 or more",
  test: (value) => Number.isSafeInteger(value) && Number(value) >= 1,
};
const OPTIONS = {
  signal: "signal",
  onProgress: "function",
  onLog: "function",
  maxBytes: MAX_BYTES,
  ...REQUEST,
} as const;

/**
 * Reads a source that takes time: a file at an address, a Response, a stream, a file handle of a
 * page, a Blob. Calls of an engine do not wait, so read such a source first. A source that the
 * engine can read at once, such as a path, is returned as it is. A client does not need this call.
 *
 * @returns The bytes, or the source itself.
 * @throws SconceError with the code "io" when the file cannot be loaded whole, and "format" when the
 * answer is an HTML page. The code is "state" when a Response or a stream was read already, or when
 * there is no cache. It is "out_of_memory" for more than `maxBytes`, and "cancelled" by the signal.
 *
 * @example
 * const engine = await createEngine();
 * const source = await fetchSource("https://example.com/model.pt2", {
 *   cache: true,
 *   onProgress: ({ done, total }) => console.log(`${done} of ${total}`),
 * });
 * const lowered = engine.lower(source);
 */
export async function fetchSource(
  source: Source,
  options: FetchOptions = {},
): Promise<ReadySource> {
  checkTable("fetchSource()", options, OPTIONS);
  await prepareHost();
  const { headers, credentials, cache, ...call } = options;
  const request = {
    ...(headers && { headers }),
    ...(credentials !== undefined && { credentials }),
    ...(cache !== undefined && { cache }),
  };
  return new Gathering(call, HERE).run((gathering) =>
    gathering.source(source, "the source of fetchSource()", request),
  );
}

/**
 * Fetches the file at an address, as `fetchSource` does.
 * @deprecated Pass the address to the client, or `await fetchSource(url, { signal })` to the engine.
 */
export async function openUrl(
  url: string | HostUrl,
  signal?: HostAbortSignal,
): Promise<ReadySource> {
  if (signal !== undefined) mustBe("signal", "the signal of openUrl()", signal);
  if (!isPlace(url) || !URL.canParse(absoluteUrl(String(url))))
    throw badArgument("the url of openUrl()", "a URL", url);
  return fetchSource({ url }, signal ? { signal } : {});
}
