// Which values of delegates a run records: what the caller says, checked, as a question about one id.
import { badArgument, isPlain } from "../base/check.js";
import { messageOf, SconceError } from "../base/errors.js";
import type { DelegateFilter, DelegateIds } from "../types/index.js";

/** True for an id whose value is recorded. */
export type Chooser = (id: string | number) => boolean;

const ACCEPTS =
  "{ include: ids } or { exclude: ids }, where each of the ids is a RegExp, the text of one, or two " +
  "whole numbers from 0 on, of which the first is the smaller";

function isFilter(value: unknown): boolean {
  if (!isPlain(value)) return false;
  const said = Object.keys(value).filter((key) => value[key] !== undefined);
  return said.length === 1 && Array.isArray(value["include"] ?? value["exclude"]);
}

/** The kind of the option `delegateValues`. */
export const DELEGATE_VALUES = { accepts: ACCEPTS, test: isFilter } as const;

/** An expression that whole texts have to match. */
function whole(ids: string | RegExp): RegExp {
  const [source, flags] = typeof ids === "string" ? [ids, ""] : [ids.source, ids.flags];
  try {
    // On its own first: what would only be right between our brackets is wrong.
    return new RegExp(`^(?:${new RegExp(source, flags).source})$`, flags.replace(/[gy]/g, ""));
  } catch (error) {
    const hint = "Write what whole ids match, as in JavaScript's RegExp.";
    throw new SconceError("option", `'delegateValues': ${messageOf(error)}`, hint);
  }
}

const isRange = (ids: unknown): ids is [number, number] =>
  Array.isArray(ids) &&
  ids.length === 2 &&
  ids.every((item) => Number.isSafeInteger(item) && Number(item) >= 0) &&
  Number(ids[0]) < Number(ids[1]);

function matcher(ids: DelegateIds): Chooser {
  if (isRange(ids)) return (id) => typeof id === "number" && ids[0] <= id && id < ids[1];
  const isText = typeof ids === "string" || ids instanceof RegExp;
  if (!isText) {
    const { message, hint } = badArgument("each of the ids of 'delegateValues'", ACCEPTS, ids);
    throw new SconceError("option", message, hint);
  }
  const expression = whole(ids);
  return (id) => typeof id === "string" && expression.test(id);
}

/** The filter as a function, which asks each expression once about each id. */
export function chooserOf({ include, exclude }: DelegateFilter): Chooser {
  const matchers = Array.from(include ?? exclude ?? [], matcher);
  const known = new Map<string | number, boolean>();
  return (id) => {
    const found = known.get(id) ?? matchers.some((is) => is(id)) === (include !== undefined);
    known.set(id, found);
    return found;
  };
}
