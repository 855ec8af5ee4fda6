// The graph that a pass changes: objects over JSON, which learn of each change by the answer to it.
import { brand } from "../base/brand.js";
import { badArgument, isObject, KINDS, mustBe } from "../base/check.js";
import { SconceError } from "../base/errors.js";
import { showAs } from "../base/shown.js";
import { erased, foreign, notBody, notErasable, ofOtherGraph, over } from "./graph_errors.js";
import { operatorName } from "./operator_name.js";
import { metaOf } from "./value_meta.js";
import type {
  DType,
  Graph,
  GraphArg,
  GraphNode,
  GraphValue,
  NodeMeta,
  NodeOutput,
  ValueMeta,
} from "../types/index.js";
import { asNode, NO_PARAMETERS, NOWHERE, numberArg, outputNode, textOfFloat } from "./raw.js";
import type {
  Changed,
  PassCore,
  RawArg,
  RawGraph,
  RawMethod,
  RawNode,
  RawOrigin,
  RawParameters,
  RawValue,
  Tagged,
} from "./raw.js";

/** Everything that one pass may look at: graphs, nodes and values by number. */
export class Scope {
  isOver = false;
  readonly graphs = new Map<number, GraphView>();
  readonly nodes = new Map<number, NodeView>();
  /** By the number of the value: the node that makes it. */
  readonly values = new Map<number, NodeView>();
  /** By operator. */
  readonly parameters = new Map<string, RawParameters>();
  /** True if nodes know their users. Many passes never ask. */
  isLinked = false;

  constructor(
    private readonly core: PassCore,
    { graphs }: RawMethod,
  ) {
    const views = graphs.map((raw) => new GraphView(this, raw));
    views.forEach((view, i) => view.fill(graphs[i]!));
  }

  /** The core; throws once the pass has ended. */
  get live(): PassCore {
    if (this.isOver) throw over();
    return this.core;
  }

  change(what: object): Changed {
    return this.live.change(what);
  }

  /** Learns what a change of unknown reach has left. */
  refresh(): void {
    const { graphs } = this.live.method();
    for (const raw of graphs) this.graphs.get(raw.id)!.take(raw);
    this.isLinked = false;
  }

  /** Says to all nodes who uses them. */
  link(): void {
    if (this.isLinked) return;
    this.isLinked = true;
    for (const graph of this.graphs.values())
      for (let node = graph.first; node; node = node.next) node.link();
  }

  argOf(raw: RawArg): GraphArg {
    if (Array.isArray(raw)) return Object.freeze((raw as RawArg[]).map((item) => this.argOf(item)));
    if (!isObject(raw)) return raw as number | boolean | string | null;
    const found: Tagged = raw;
    if (found.v !== undefined) return this.valueOf(found.v);
    if (found.g !== undefined) return this.graphs.get(found.g)!;
    if (found.i !== undefined) return BigInt(found.i);
    return found.p ?? Number(found.f);
  }

  valueOf(id: number): GraphValue {
    const node = this.values.get(id)!;
    return node.outputs[node.outs.findIndex((out) => out.id === id)]!;
  }

  /** The number of a value that a caller gave. */
  numberOf(value: unknown, what: string): number {
    const [node, index] = value instanceof OutputView ? [value.node, value.index] : [value, 0];
    if (!(node instanceof NodeView))
      throw badArgument(what, "a node of this program, or one of its outputs", value);
    if (node.scope !== this) throw foreign(node);
    if (node.isErased) throw erased(node);
    if (node === value && node.outs.length !== 1)
      throw new SconceError(
        "argument",
        `'${node.name}' has ${node.outs.length} results, so it is not one value`,
        "Use one of its outputs: node.outputs[0].",
      );
    return node.outs[index]!.id;
  }

  rawOf(arg: unknown, what: string): RawArg {
    if (Array.isArray(arg)) return arg.map((item) => this.rawOf(item, what));
    if (arg instanceof NodeView || arg instanceof OutputView)
      return { v: this.numberOf(arg, what) };
    if (arg instanceof GraphView && arg.scope === this) return { g: arg.id };
    if (typeof arg === "bigint") {
      if (arg !== BigInt.asIntN(64, arg)) throw badArgument(what, "an integer of 64 bits", arg);
      return { i: String(arg) };
    }
    if (typeof arg === "number") return numberArg(arg);
    if (arg === null || typeof arg === "boolean" || typeof arg === "string") return arg;
    if (isObject(arg) && typeof arg["float"] === "number") return { f: textOfFloat(arg["float"]) };
    throw badArgument(what, "a node, number, text, true, false, null or a list of these", arg);
  }
}

/** One result of a node with several. */
export class OutputView implements NodeOutput {
  constructor(
    readonly node: NodeView,
    readonly index: number,
  ) {}
  private get raw(): RawValue {
    return this.node.outs[this.index]!;
  }
  get name(): string {
    return this.raw.name;
  }
  get val(): ValueMeta {
    return metaOf(this.raw);
  }
  get users(): readonly GraphNode[] {
    return this.node.usersOf(this.index);
  }
  replaceAllUsesWith(value: GraphValue): void {
    this.node.graph.replaceUses(this, value);
  }
}

/** A node's facts, read when they are asked for; members with other names are the pass's own. */
class MetaView implements NodeMeta {
  readonly #node: NodeView;
  [fact: string]: unknown;

  constructor(node: NodeView) {
    this.#node = node;
  }
  get val(): NodeMeta["val"] {
    const vals = this.#node.outs.map(metaOf);
    return vals.length === 1 ? vals[0]! : Object.freeze(vals);
  }
  get stackTrace(): string {
    return this.#node.origin.stackTrace;
  }
  get module(): string {
    return this.#node.origin.module;
  }
  get fromNode(): string {
    return this.#node.origin.fromNode;
  }
  get debugHandle(): number {
    return this.#node.debugHandle;
  }
}

export class NodeView implements GraphNode {
  prev: NodeView | null = null;
  next: NodeView | null = null;
  isErased = false;
  private facts: MetaView | undefined;
  private from: RawOrigin | undefined;
  private several: readonly GraphValue[] | undefined;
  private used: readonly NodeView[] = [];
  private readonly using = new Set<NodeView>();
  private cached: { args: readonly GraphArg[]; kwargs: Record<string, GraphArg> } | undefined;

  constructor(
    readonly scope: Scope,
    readonly graph: GraphView,
    readonly op: GraphNode["op"],
    private raw: RawNode,
  ) {
    this.take(raw);
  }

  get id(): number {
    return this.raw.id;
  }
  get name(): string {
    return this.raw.name;
  }
  get target(): string {
    return this.raw.target;
  }
  get outs(): readonly RawValue[] {
    return this.raw.outs;
  }
  get debugHandle(): number {
    return this.raw.debugHandle;
  }

  /** Takes over what the core says of the node now. */
  take(raw: RawNode): void {
    this.raw = raw;
    this.cached = undefined;
    if (raw.outs.length !== this.several?.length) this.several = undefined;
    if (raw.parameters) this.scope.parameters.set(raw.target, raw.parameters);
    for (const out of raw.outs) this.scope.values.set(out.id, this);
  }

  /** Takes over another dtype of an input. */
  setDType(dtype: DType): void {
    this.take({ ...this.raw, outs: [{ ...this.raw.outs[0]!, dtype }] });
  }

  get outputs(): readonly GraphValue[] {
    const { outs } = this;
    return (this.several ??= Object.freeze(
      outs.length === 1 ? [this] : outs.map((_, index) => new OutputView(this, index)),
    ));
  }

  get meta(): NodeMeta {
    return (this.facts ??= new MetaView(this));
  }

  /** The place in the user's program that it comes from. */
  get origin(): RawOrigin {
    if (this.op !== "call_function") return NOWHERE;
    if (this.from) return this.from;
    if (this.isErased) throw erased(this);
    return (this.from = this.scope.change({ do: "origin", node: this.id }).origin!);
  }

  private get parameters(): RawParameters {
    if (this.op !== "call_function") return NO_PARAMETERS;
    return this.raw.parameters ?? this.scope.parameters.get(this.target)!;
  }

  get mutates(): boolean {
    return this.parameters.mutates === true;
  }
  get isRandom(): boolean {
    return this.parameters.isRandom === true;
  }

  /** Says to the nodes whose results it uses that it does so, in the place of those before. */
  link(): void {
    for (const node of this.used) node.using.delete(this);
    this.used = [...new Set(this.inputsOf(this.raw.args))];
    for (const node of this.used) node.using.add(this);
  }

  unlink(): void {
    for (const node of this.used) node.using.delete(this);
    this.used = [];
    this.isErased = true;
  }

  private inputsOf(args: readonly RawArg[]): NodeView[] {
    return args.flatMap((arg) => {
      if (Array.isArray(arg)) return this.inputsOf(arg as RawArg[]);
      const v = isObject(arg) ? (arg as Tagged).v : undefined;
      return v === undefined ? [] : [this.scope.values.get(v)!];
    });
  }

  get users(): readonly GraphNode[] {
    this.scope.link();
    return [...this.using];
  }
  get inputs(): readonly GraphNode[] {
    this.scope.link();
    return this.used;
  }
  usersOf(index: number): readonly GraphNode[] {
    this.scope.link();
    const { id } = this.outs[index]!;
    const uses = (arg: RawArg): boolean =>
      Array.isArray(arg) ? (arg as RawArg[]).some(uses) : isObject(arg) && (arg as Tagged).v === id;
    return [...this.using].filter((user) => user.raw.args.some(uses));
  }

  private decoded(): { args: readonly GraphArg[]; kwargs: Record<string, GraphArg> } {
    if (this.cached) return this.cached;
    const { names, positional } = this.parameters;
    const all = this.raw.args.map((arg) => this.scope.argOf(arg));
    const named = all.slice(positional).map((arg, i) => [names[positional + i]!, arg]);
    return (this.cached = {
      args: Object.freeze(all.slice(0, positional)),
      kwargs: Object.freeze(Object.fromEntries(named) as Record<string, GraphArg>),
    });
  }
  get args(): readonly GraphArg[] {
    return this.decoded().args;
  }
  get kwargs(): Readonly<Record<string, GraphArg>> {
    return this.decoded().kwargs;
  }

  /** The node as changes name it. */
  get address(): number | { outputs: number } {
    return this.op === "output" ? { outputs: this.graph.id } : this.id;
  }

  replaceAllUsesWith(value: GraphValue): void {
    this.graph.replaceUses(this, value);
  }

  replaceInput(from: GraphValue, to: GraphValue): void {
    this.mayChange();
    this.graph.update(
      this.scope.change({
        do: "replaceInput",
        node: this.address,
        from: this.scope.numberOf(from, "what replaceInput() replaces"),
        to: this.scope.numberOf(to, "what replaceInput() puts there"),
      }),
    );
  }

  setArg(at: number | string, value: GraphArg): void {
    this.mayChange();
    const { names } = this.parameters;
    const index = typeof at === "string" ? names.indexOf(at) : at;
    if (!KINDS.index.test(index) || index >= this.raw.args.length)
      throw new SconceError(
        "argument",
        `'${this.name}' (${this.target}) has no argument ${JSON.stringify(at)}`,
        names.length > 0 ? `Use one of: ${names.join(", ")}.` : `It has ${this.raw.args.length}.`,
      );
    const raw = this.scope.rawOf(value, `argument ${at} of '${this.name}'`);
    if (this.op === "output") this.setOutputs(raw);
    else this.set(index, raw);
  }

  private set(index: number, value: RawArg): void {
    this.graph.update(this.scope.change({ do: "set", node: this.address, index, value }));
  }

  /** Sets the outputs that differ: their number belongs to the signature. */
  private setOutputs(outputs: RawArg): void {
    const before = this.raw.args[0] as readonly RawArg[];
    if (!Array.isArray(outputs) || outputs.length !== before.length)
      throw badArgument(
        "the argument of the output",
        `a list of ${before.length}: addOutput() adds one`,
        outputs,
      );
    (outputs as readonly RawArg[]).forEach((value, index) => {
      if (JSON.stringify(value) !== JSON.stringify(before[index])) this.set(index, value);
    });
  }

  private mayChange(): void {
    if (this.isErased) throw erased(this);
    if (this.op === "placeholder")
      throw new SconceError(
        "argument",
        `'${this.name}' is an input, which has no arguments`,
        "Change the nodes that use it.",
      );
  }
}

/** Is the value a node of a program, of whichever copy of this package? */
export const isNodeOfAnyCopy = brand(NodeView, "GraphNode") as (
  value: unknown,
) => value is GraphNode;

showAs(NodeView.prototype, "GraphNode", ({ name, op, target }) => ({ name, op, target }));

class NodeList implements Iterable<GraphNode> {
  constructor(private readonly graph: GraphView) {}
  get length(): number {
    return this.graph.count;
  }
  *[Symbol.iterator](): Generator<GraphNode> {
    for (let node = this.graph.first; node; node = following(node)) yield node;
  }
}

/** The node behind one that may have been erased since: erased nodes still know who stood there. */
function following(node: NodeView): NodeView | null {
  let next = node.next;
  while (next?.isErased) next = next.next;
  return next;
}

export class GraphView implements Graph {
  first: NodeView | null = null;
  last: NodeView | null = null;
  count = 0;
  readonly nodes = new NodeList(this);
  readonly id: number;
  readonly name: string;
  readonly path: string;
  output!: NodeView;

  constructor(
    readonly scope: Scope,
    raw: RawGraph,
  ) {
    ({ id: this.id, name: this.name, path: this.path } = raw);
    scope.graphs.set(this.id, this);
  }

  /** Makes the nodes; graphs that arguments name are there by then. */
  fill(raw: RawGraph): void {
    for (const input of raw.inputs)
      this.append(new NodeView(this.scope, this, "placeholder", asNode(input)));
    for (const node of raw.nodes)
      this.append(new NodeView(this.scope, this, "call_function", node));
    this.output = new NodeView(this.scope, this, "output", outputNode(raw.outputs));
    this.append(this.output);
  }

  /** Takes over the calls and outputs as they are now. */
  take(raw: RawGraph): void {
    const live = new Set(raw.nodes.map(({ id }) => id));
    for (const node of [...this.nodes] as NodeView[])
      if (node.op === "call_function" && !live.has(node.id)) this.remove(node);
    let before = this.first;
    while (before?.op === "placeholder") before = before.next;
    for (const one of raw.nodes) {
      if (before?.id === one.id && before.op === "call_function") {
        before.take(one);
        before = before.next;
      } else this.insert(new NodeView(this.scope, this, "call_function", one), before);
    }
    this.output.take(outputNode(raw.outputs));
  }

  /** A new input behind the others. */
  addInput(input: RawValue): NodeView {
    let before = this.first!;
    while (before.op === "placeholder") before = before.next!;
    const node = new NodeView(this.scope, this, "placeholder", asNode(input));
    this.insert(node, before);
    return node;
  }

  private append(node: NodeView): void {
    this.insert(node, null);
  }

  private insert(node: NodeView, before: NodeView | null): void {
    const prev = before ? before.prev : this.last;
    node.prev = prev;
    node.next = before;
    if (prev) prev.next = node;
    else this.first = node;
    if (before) before.prev = node;
    else this.last = node;
    this.count++;
    if (node.op === "call_function") this.scope.nodes.set(node.id, node);
  }

  private remove(node: NodeView): void {
    if (node.prev) node.prev.next = node.next;
    else this.first = node.next;
    if (node.next) node.next.prev = node.prev;
    else this.last = node.prev;
    this.count--;
    this.scope.nodes.delete(node.id);
    node.unlink();
  }

  /** Takes over the nodes that a change has changed. */
  update({ nodes = [], outputs }: Changed): void {
    const changed = nodes.map((raw) => [this.scope.nodes.get(raw.id)!, raw] as const);
    for (const [node, raw] of changed) node.take(raw);
    if (outputs) this.output.take(outputNode(outputs));
    if (!this.scope.isLinked) return;
    for (const [node] of changed) node.link();
    if (outputs) this.output.link();
  }

  find(target: string): GraphNode[] {
    mustBe("text", "the operator of find()", target);
    const name = operatorName(target);
    return [...this.nodes].filter((node) => node.target === target || node.target === name);
  }

  insertBefore(
    node: GraphNode,
    target: string,
    args: readonly GraphArg[] = [],
    kwargs: Readonly<Record<string, GraphArg>> = {},
  ): GraphNode {
    const at = this.own(node, "the node of insertBefore()");
    return this.make(at, at, target, args, kwargs);
  }

  insertAfter(
    node: GraphNode,
    target: string,
    args: readonly GraphArg[] = [],
    kwargs: Readonly<Record<string, GraphArg>> = {},
  ): GraphNode {
    const at = this.own(node, "the node of insertAfter()");
    if (at.op === "output")
      throw badArgument("the node of insertAfter()", "a node before the output", node);
    return this.make(at.next!, at, target, args, kwargs);
  }

  private make(
    before: NodeView,
    like: NodeView,
    target: string,
    args: readonly GraphArg[],
    kwargs: Readonly<Record<string, GraphArg>>,
  ): GraphNode {
    mustBe("text", "the operator of a new node", target);
    const what = (at: number | string): string => `argument ${at} of ${target}`;
    if (!Array.isArray(args)) throw badArgument(`the arguments of ${target}`, "a list", args);
    let position = before;
    while (position.op === "placeholder") position = position.next!;
    const origin = like.op === "call_function" ? like : this.neighbour(like);
    const { node: raw } = this.scope.change({
      do: "insert",
      graph: this.id,
      before: position.op === "output" ? null : position.id,
      like: origin?.id ?? null,
      target: operatorName(target),
      args: args.map((arg, i) => this.scope.rawOf(arg, what(i))),
      kwargs: Object.fromEntries(
        Object.entries(kwargs).flatMap(([name, arg]) =>
          arg === undefined ? [] : [[name, this.scope.rawOf(arg, what(name))]],
        ),
      ),
    });
    const node = new NodeView(this.scope, this, "call_function", raw!);
    this.insert(node, position);
    if (this.scope.isLinked) node.link();
    return node;
  }

  /** The call whose origin a node next to an input or the output inherits. */
  private neighbour(node: NodeView): NodeView | undefined {
    const from = node.op === "output" ? node.inputs : node.users;
    return (from as readonly NodeView[]).find((other) => other.op === "call_function");
  }

  erase(node: GraphNode): void {
    const own = this.own(node, "the node of erase()");
    if (own.op !== "call_function") throw notErasable(own);
    void own.origin;
    this.scope.change({ do: "erase", node: own.id });
    this.remove(own);
  }

  eraseDead(): number {
    const { erased: gone = [] } = this.scope.change({ do: "eraseDead", graph: this.id });
    for (const id of gone) this.remove(this.scope.nodes.get(id)!);
    return gone.length;
  }

  replaceUses(from: GraphValue, to: GraphValue): void {
    this.update(
      this.scope.change({
        do: "replaceUses",
        from: this.scope.numberOf(from, "what replaceAllUsesWith() replaces"),
        to: this.scope.numberOf(to, "what replaceAllUsesWith() takes"),
      }),
    );
  }

  subgraph(node: GraphNode, index: number): Graph {
    const { args } = this.own(node, "the node of subgraph()");
    const body = args[index];
    if (body instanceof GraphView) return body;
    throw notBody(
      node,
      index,
      args.flatMap((arg, i) => (arg instanceof GraphView ? [i] : [])),
    );
  }

  private own(node: GraphNode, what: string): NodeView {
    if (!(node instanceof NodeView)) throw badArgument(what, "a node of this graph", node);
    if (node.scope !== this.scope) throw foreign(node);
    if (node.isErased) throw erased(node);
    if (node.graph === this) return node;
    throw ofOtherGraph(node, this);
  }
}

showAs(GraphView.prototype, "Graph", ({ path, count }) => ({ path, nodes: count }));
