// The trees by which a .pte says how Python nests inputs and outputs. PyTorch writes them as JSON,
// and wrote a compact text before: "T2#1#1($,D1#1('mask':$))". Both come from files, which may be
// hostile. A tree that is damaged, deep or has too many leaves is ignored.
import { isObject } from "../base/check.js";

/** A container, or a leaf where `children` is absent. */
export interface Tree {
  readonly children?: readonly Tree[];
  /** The keys of the children, of a dict; those that are no text are null. */
  readonly keys?: readonly (string | null)[];
  /** Names of the arguments, which Sconce writes into the root of the inputs. */
  readonly argNames?: readonly string[];
}

const DEPTH_MAX = 64;

class NoTree extends Error {}

const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((item) => typeof item === "string");

// --- JSON ------------------------------------------------------------------------------------------

/** The keys of a dict: a list as JSON, which a defaultdict has one level below. */
function keysOf(context: unknown, count: number): (string | null)[] | undefined {
  if (typeof context !== "string" || !/^[[{]/.test(context)) return undefined;
  const parsed = JSON.parse(context) as unknown;
  const list = isObject(parsed) && !Array.isArray(parsed) ? parsed["dict_context"] : parsed;
  if (!Array.isArray(list) || list.length !== count) return undefined;
  return list.map((key: unknown) => (typeof key === "string" ? key : null));
}

/** How many leaves there may still be. */
interface Budget {
  leaves: number;
}

function takeLeaf(budget: Budget): Tree {
  if (budget.leaves-- <= 0) throw new NoTree();
  return {};
}

function fromJson(value: unknown, budget: Budget, depth: number): Tree {
  if (!isObject(value) || depth > DEPTH_MAX) throw new NoTree();
  const { type, context, children_spec: list } = value;
  if (!Array.isArray(list)) throw new NoTree();
  if (type === null && list.length === 0) return takeLeaf(budget);
  const children = list.map((child) => fromJson(child, budget, depth + 1));
  const keys = keysOf(context, children.length);
  return { children, ...(keys && { keys }) };
}

function readJson(text: string, budget: Budget): Tree {
  const parsed = JSON.parse(text) as unknown;
  if (!Array.isArray(parsed) || parsed[0] !== 1) throw new NoTree();
  const root = parsed[1] as { forward_arg_names?: unknown } | undefined;
  const tree = fromJson(root, budget, 0);
  const argNames = root!.forward_arg_names;
  return isTexts(argNames) ? { ...tree, argNames } : tree;
}

// --- The compact text ------------------------------------------------------------------------------

/** Reads the text once, from left to right. */
class Compact {
  private at = 0;

  constructor(
    private readonly text: string,
    private readonly budget: Budget,
  ) {}

  whole(): Tree {
    const tree = this.node(0);
    if (this.at !== this.text.length) throw new NoTree();
    return tree;
  }

  /** The text that matches here; the pattern is sticky. */
  private take(pattern: RegExp): string {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text);
    if (!found) throw new NoTree();
    this.at = pattern.lastIndex;
    return found[1] ?? found[0];
  }

  private node(depth: number): Tree {
    if (depth > DEPTH_MAX) throw new NoTree();
    const kind = this.take(/\$|[TNLD]|C\([^()]*\)/y);
    if (kind === "$") return takeLeaf(this.budget);
    const count = Number(this.take(/(\d{1,6})(?:#\d+)*\(/y));
    const children: Tree[] = [];
    const keys: (string | null)[] = [];
    for (let i = 0; i < count; i++) {
      if (i > 0) this.take(/,/y);
      if (kind === "D") keys.push(this.key());
      children.push(this.node(depth + 1));
    }
    this.take(/\)/y);
    return { children, ...(kind === "D" && { keys }) };
  }

  private key(): string | null {
    const key = this.take(/(?:'[^']*'|-?\d+):/y);
    return key.startsWith("'") ? key.slice(1, -2) : null;
  }
}

/** The tree that a text spells, with up to `leaves` leaves; undefined where it spells none. */
export function readTree(text: string, leaves: number): Tree | undefined {
  const budget = { leaves };
  try {
    return text.startsWith("[") ? readJson(text, budget) : new Compact(text, budget).whole();
  } catch (error) {
    // JSON.parse throws a SyntaxError, and a RangeError where an engine reads by recursion.
    if (error instanceof NoTree || error instanceof SyntaxError || error instanceof RangeError)
      return undefined;
    throw error;
  }
}
