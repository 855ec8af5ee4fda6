// Which parts of which method go to which backend, as callers say it and as the core reads it.
import {
  badArgument,
  checkTable,
  isObject,
  isOwnPartitioner,
  isPlain,
  jsonFor,
  KINDS,
  mustBe,
} from "../base/check.js";
import { SconceError } from "../base/errors.js";
import { isBytes } from "../base/tags.js";
import { nodeNameIn } from "../pass/program.js";
import type { HostFunctions, PassEntries } from "../pass/run.js";
import type {
  CompileSpec,
  OwnPartitioner,
  Partitioner,
  Partitioners,
  PartitionFunction,
  PartitionTag,
  Pass,
  PassProgram,
  Precision,
  TaggedNodes,
} from "../types/index.js";
import { isPassList } from "../pass/lists.js";

const PARTITIONER = {
  backend: "text",
  compileSpecs: "list",
  tags: "list",
  whole: "flag",
  configPrecisions: "any",
  perOpMode: "flag",
  transformForPreDecomposition: "list",
} as const;
const OWN = {
  partition: "function",
  opsToNotDecompose: "list",
  transformForPreDecomposition: "list",
} as const;
const RESULT = { tags: "list" } as const;
const OWN_TAG = { tag: "text", backend: "text", nodes: "list", compileSpecs: "list" } as const;
const TAG = { tag: "text", nodes: "names", compileSpecs: "list" } as const;
const SPEC = { key: "text", value: "any" } as const;

const ONE = "a backend's id or name, { backend }, or a function";

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

/** The call that partitioners are given to. */
export interface Asked {
  readonly host: HostFunctions;
  /** The passes that a backend asks for; absent where the program is decomposed already. */
  readonly passesOf?: (backend: string) => readonly Pass[] | undefined;
}

function earlyPasses(
  given: readonly Pass[] | undefined,
  where: string,
  { host, passesOf }: Asked,
  backend?: string,
): PassEntries | undefined {
  if (given && !passesOf)
    throw new SconceError(
      "option",
      `a partitioner of ${where} has 'transformForPreDecomposition', but the program is decomposed already`,
      "Pass it to toEdgeTransformAndLower or lower, or leave out transformForPreDecomposition.",
    );
  const list = given ?? (backend === undefined ? undefined : passesOf?.(backend));
  if (list && !isPassList(list))
    throw badArgument("'transformForPreDecomposition'", "a list of names and functions", list);
  return list && host.entries(list, true);
}

const tagJson = (
  what: string,
  tag: TaggedNodes | PartitionTag,
  nodes: readonly string[],
): object => ({
  tag: tag.tag,
  nodes,
  specs: specsOf(tag.compileSpecs, what),
});

/** The result of a partitioner of the caller's own, as rounds that the core runs as one. */
function ownRounds(result: unknown, program: PassProgram): object[] {
  if (!isPlain(result)) throw badArgument("the result of a partitioner", "{ tags }", result);
  checkTable("the result of a partitioner", result, RESULT);
  const rounds = new Map<string, object[]>();
  const names = new Set<string>();
  const { tags } = result as { readonly tags?: readonly PartitionTag[] };
  mustBe("list", "the tags of a partitioner", tags);
  tags!.forEach((tag, i) => {
    const what = `tag ${i} of a partitioner`;
    checkTable(what, tag, OWN_TAG);
    mustBe("text", `the name of ${what}`, tag.tag);
    mustBe("text", `the backend of ${what}`, tag.backend);
    mustBe("list", `the nodes of ${what}`, tag.nodes);
    if (names.has(tag.tag)) throw badArgument(`the name of ${what}`, "a name of its own", tag.tag);
    names.add(tag.tag);
    const nodes = tag.nodes.map((node) => {
      const name = typeof node === "string" ? node : nodeNameIn(program, node);
      if (name !== undefined) return name;
      throw badArgument(`a node of ${what}`, "a node of the program, or its name", node);
    });
    const round = rounds.get(tag.backend) ?? [];
    rounds.set(tag.backend, round);
    round.push(tagJson(what, tag, nodes));
  });
  return [...rounds].map(([backend, tags]) => ({ backend, tags }));
}

function ownJson(
  given: PartitionFunction | OwnPartitioner,
  where: string,
  asked: Asked,
  registered?: string,
): object {
  const what = `a partitioner of ${where}`;
  const own = typeof given === "function" ? { partition: given } : given;
  checkTable(what, own, OWN);
  const { partition, opsToNotDecompose: keeps, transformForPreDecomposition: passes } = own;
  mustBe("function", `'partition' of ${what}`, partition);
  if (keeps) mustBe("names", `'opsToNotDecompose' of ${what}`, keeps);
  const name = registered ?? (partition.name || "a partitioner");
  return {
    host: asked.host.addPartitioner(own, name, ownRounds),
    keeps,
    passes: earlyPasses(passes, where, asked),
  };
}

const PRECISIONS: readonly unknown[] = ["fp32", "static_quant", "dynamic_quant"];

function precisionsOf(
  given: Precision | readonly Precision[],
  where: string,
): readonly Precision[] {
  const list: readonly unknown[] = Array.isArray(given) ? given : [given];
  if (list.length > 0 && list.every((one) => PRECISIONS.includes(one)))
    return list as readonly Precision[];
  const accepts = '"fp32", "static_quant", "dynamic_quant", or a list of them';
  throw badArgument(`'configPrecisions' of a partitioner of ${where}`, accepts, given);
}

function partitionerJson(given: Partitioner, where: string, asked: Asked): object {
  if (typeof given === "string") {
    const own = asked.host.partitioner(given);
    if (own) return ownJson(own, where, asked, given);
    return { backend: given, passes: earlyPasses(undefined, where, asked, given) };
  }
  if (typeof given === "function" || isOwnPartitioner(given)) return ownJson(given, where, asked);
  if (!isPlain(given)) throw badArgument(`a partitioner of ${where}`, ONE, given);
  checkTable(`a partitioner of ${where}`, given, PARTITIONER);
  const { backend, compileSpecs, tags, whole, transformForPreDecomposition: passes } = given;
  const { configPrecisions, perOpMode } = given;
  mustBe("text", `the backend of a partitioner of ${where}`, backend);
  return {
    backend,
    whole,
    precisions: configPrecisions && precisionsOf(configPrecisions, where),
    per_op: perOpMode,
    passes: earlyPasses(passes, where, asked, backend),
    specs: specsOf(compileSpecs, where),
    tags: tags?.map((tag, i) => {
      const what = `tag ${i} of ${where}`;
      checkTable(what, tag, TAG);
      mustBe("text", `the name of ${what}`, tag.tag);
      mustBe("names", `the nodes of ${what}`, tag.nodes);
      return tagJson(what, tag, tag.nodes);
    }),
  };
}

const roundsJson = (
  given: Partitioner | readonly Partitioner[],
  where: string,
  asked: Asked,
): object[] =>
  (Array.isArray(given) ? (given as readonly Partitioner[]) : [given as Partitioner]).map((one) =>
    partitionerJson(one, where, asked),
  );

/** True for one partitioner, not a list or a record of them. */
export const isPartitioner = (given: unknown): given is Partitioner =>
  typeof given === "string" ||
  typeof given === "function" ||
  isOwnPartitioner(given) ||
  (isObject(given) && typeof given["backend"] === "string");

/** Partitioners of all methods, or by method, in the form that the core takes. */
export function partitionersJson(given: Partitioners, where: string, asked: Asked): string {
  if (isPartitioner(given) || Array.isArray(given))
    return jsonFor(where, {
      all: roundsJson(given as Partitioner | Partitioner[], where, asked),
    });
  if (!KINDS.record.test(given)) throw badArgument(where, `${ONE}, or these by method`, given);
  const methods = Object.entries(given).map(([method, rounds]): [string, object[]] => {
    mustBe("name", `a method of ${where}`, method);
    return [method, roundsJson(rounds, `method '${method}'`, asked)];
  });
  return jsonFor(where, { methods: Object.fromEntries(methods) });
}
