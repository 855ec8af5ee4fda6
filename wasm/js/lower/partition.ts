// Which parts of which method go to which backend, as callers say it and as the core reads it.
import {
  badArgument,
  checkTable,
  isObject,
  isPlain,
  jsonFor,
  KINDS,
  mustBe,
} from "../base/check.js";
import { SconceError } from "../base/errors.js";
import { isBytes } from "../base/tags.js";
import type { CompileSpec, Partitioner, Partitioners } from "../types/index.js";

const PARTITIONER = {
  backend: "text",
  compileSpecs: "list",
  tags: "list",
  whole: "flag",
  transformForPreDecomposition: "names",
} as const;
const TAG = { tag: "text", nodes: "names", compileSpecs: "list" } as const;
const SPEC = { key: "text", value: "any" } as const;

const ONE = "a backend's id or name, or { backend }";

function specsOf(list: readonly CompileSpec[] | undefined, where: string): object[] | undefined {
  if (list === undefined) return undefined;
  mustBe("list", `the compile specs of ${where}`, list);
  return Array.from(list, (spec, i) => {
    const what = `compile spec ${i} of ${where}`;
    if (!isPlain(spec)) throw badArgument(what, "{ key, value }", spec);
    checkTable(what, spec, SPEC);
    const { key, value } = spec;
    mustBe("text", `the key of ${what}`, key);
    if (typeof value === "string") return { key, value };
    if (!isBytes(value)) throw badArgument(`the value of ${what}`, "text or a Uint8Array", value);
    return { key, value: Array.from(value) };
  });
}

/** The passes that a backend wishes for before decomposition; absent where no operator is decomposed. */
export type Wishes = (backend: string) => readonly string[] | undefined;

function partitionerJson(given: Partitioner, where: string, wishes?: Wishes): object {
  if (typeof given === "string") return { backend: given, passes: wishes?.(given) };
  if (!isPlain(given)) throw badArgument(`a partitioner of ${where}`, ONE, given);
  checkTable(`a partitioner of ${where}`, given, PARTITIONER);
  const { backend, compileSpecs, tags, whole, transformForPreDecomposition: passes } = given;
  mustBe("text", `the backend of a partitioner of ${where}`, backend);
  if (passes && !wishes)
    throw new SconceError(
      "option",
      `a partitioner of ${where} has passes for the time before decomposition, which is over`,
      "Pass it to toEdgeTransformAndLower or lower, or leave out transformForPreDecomposition.",
    );
  return {
    backend,
    whole,
    passes: passes ?? wishes?.(backend),
    specs: specsOf(compileSpecs, where),
    tags: tags?.map((tag, i) => {
      const what = `tag ${i} of ${where}`;
      checkTable(what, tag, TAG);
      mustBe("text", `the name of ${what}`, tag.tag);
      mustBe("names", `the nodes of ${what}`, tag.nodes);
      return { tag: tag.tag, nodes: tag.nodes, specs: specsOf(tag.compileSpecs, what) };
    }),
  };
}

const roundsJson = (
  given: Partitioner | readonly Partitioner[],
  where: string,
  wishes?: Wishes,
): object[] =>
  (Array.isArray(given) ? (given as readonly Partitioner[]) : [given as Partitioner]).map((one) =>
    partitionerJson(one, where, wishes),
  );

const isOne = (given: unknown): given is Partitioner =>
  typeof given === "string" || (isObject(given) && typeof given["backend"] === "string");

/** Partitioners of all methods, or by method, in the form that the core takes. */
export function partitionersJson(given: Partitioners, where: string, wishes?: Wishes): string {
  if (isOne(given) || Array.isArray(given))
    return jsonFor(where, {
      all: roundsJson(given as Partitioner | Partitioner[], where, wishes),
    });
  if (!KINDS.record.test(given)) throw badArgument(where, `${ONE}, or these by method`, given);
  const methods = Object.entries(given).map(([method, rounds]): [string, object[]] => {
    mustBe("name", `a method of ${where}`, method);
    return [method, roundsJson(rounds, `method '${method}'`, wishes)];
  });
  return jsonFor(where, { methods: Object.fromEntries(methods) });
}
