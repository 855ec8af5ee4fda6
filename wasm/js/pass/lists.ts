// Lists of passes, for all methods or by method, checked and as the core takes them.
import { badArgument, KINDS } from "../base/check.js";
import type { HostFunctions, PassEntries } from "./run.js";
import type { Pass, Passes } from "../types/index.js";

const LIST = "a list of names and functions";

/** True for a list of names and functions. */
export const isPassList = (list: unknown): list is readonly Pass[] =>
  Array.isArray(list) &&
  Array.from(list as unknown[]).every((pass) => KINDS.text.test(pass) || KINDS.function.test(pass));

function entriesOf(what: string, list: unknown, host: HostFunctions): PassEntries {
  if (!isPassList(list)) throw badArgument(what, LIST, list);
  return host.entries(list);
}

/** The passes as the core takes them; `check` throws for a method that does not exist. */
export function passEntries(
  what: string,
  passes: Passes,
  host: HostFunctions,
  check: (method: string) => void,
): PassEntries | Record<string, PassEntries> {
  if (Array.isArray(passes)) return entriesOf(what, passes, host);
  if (!KINDS.record.test(passes)) throw badArgument(what, `${LIST}, or lists by method`, passes);
  const lists = Object.entries(passes).map(([method, list]): [string, PassEntries] => {
    const entries = entriesOf(what, list, host);
    check(method);
    return [method, entries];
  });
  return Object.fromEntries(lists);
}
