// Names of the inputs and outputs of a method, from the trees of its file.
import { readTree, type Tree } from "./tree.js";
import type { ProgramMethodInfo, ProgramReport, ProgramValueInfo } from "../types/index.js";

/** A longer way to a value is no name; it bounds what nested keys of a hostile file add up to. */
const NAME_MAX = 256;

/** Keys and positions; null where they are too long together. */
type Way = readonly (string | number)[] | null;

function longer(way: Way, step: string | number): Way {
  if (!way || String(step).length > NAME_MAX) return null;
  const all = [...way, step];
  return all.join(".").length > NAME_MAX ? null : all;
}

/** The ways to the leaves of a tree, from left to right. */
function waysOf(tree: Tree, way: Way, found: Way[]): void {
  if (!tree.children) found.push(way);
  tree.children?.forEach((child, i) => waysOf(child, longer(way, tree.keys?.[i] ?? i), found));
}

/** The same of inputs: a call is a list of arguments and a dict of those by name. */
function inputWays(tree: Tree): Way[] {
  const found: Way[] = [];
  const [args, kwargs] = tree.children ?? [];
  if (tree.children?.length !== 2 || !args?.children || !kwargs?.children) {
    waysOf(tree, [], found);
    return found;
  }
  args.children.forEach((child, i) => waysOf(child, longer([], tree.argNames?.[i] ?? i), found));
  waysOf(kwargs, [], found);
  return found;
}

/** A way with a key in it, as a name. Names are shown, and a terminal obeys control characters. */
function nameOf(way: Way): string | undefined {
  if (!way?.some((step) => typeof step === "string")) return undefined;
  const name = way.join(".");
  return name === "" || /[\p{Cc}\p{Cs}]/u.test(name) ? undefined : name;
}

/** Every value has a name that no other has: those without get one that says their place. */
function unique(names: readonly (string | undefined)[], stem: string): string[] {
  const taken = new Set<string>();
  const own = names.map((name) => {
    if (name === undefined || taken.has(name)) return undefined;
    taken.add(name);
    return name;
  });
  return own.map((name, i) => {
    if (name !== undefined) return name;
    let made = `${stem}_${i}`;
    while (taken.has(made)) made += "_";
    taken.add(made);
    return made;
  });
}

const named = (values: readonly ProgramValueInfo[], names: readonly string[]): ProgramValueInfo[] =>
  values.map((value, i) => ({ ...value, name: names[i]! }));

function inputNames(text: string, count: number): string[] {
  const tree = readTree(text, count);
  const ways = tree ? inputWays(tree) : [];
  const fit = ways.length === count ? ways : new Array<null>(count).fill(null);
  return unique(fit.map(nameOf), "input");
}

/** The tree is of what Python returns. Inputs that the method writes come before, under their names. */
function outputNames(
  text: string,
  outputs: readonly ProgramValueInfo[],
  inputs: readonly string[],
): string[] {
  const tree = readTree(text, outputs.length);
  const ways: Way[] = [];
  if (tree) waysOf(tree, [], ways);
  const written = outputs.slice(0, outputs.length - ways.length).map(({ ofInput }) => ofInput);
  if (!tree || !written.every((input) => input !== undefined))
    return unique(new Array<undefined>(outputs.length).fill(undefined), "output");
  const returned = ways.map(nameOf);
  const keys = new Set(returned);
  const before = written.map((input) => inputs[input]).map((n) => (keys.has(n) ? undefined : n));
  return unique([...before, ...returned], "output");
}

/** A method as the core tells it: with trees, and without names. */
interface RawMethod extends ProgramMethodInfo {
  inputTree?: string;
  outputTree?: string;
}

function namedMethod({ inputTree = "", outputTree = "", ...method }: RawMethod): ProgramMethodInfo {
  const inputs = inputNames(inputTree, method.inputs.length);
  const outputs = outputNames(outputTree, method.outputs, inputs);
  return {
    ...method,
    inputs: named(method.inputs, inputs),
    outputs: named(method.outputs, outputs),
  };
}

/** The report with the names of inputs and outputs in the place of the trees. */
export const withNames = (report: ProgramReport): ProgramReport => ({
  ...report,
  methods: report.methods.map(namedMethod),
});
