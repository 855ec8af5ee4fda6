// The program that a pass gets: the graph of a method, its signature and its constants.
import { badArgument, mustBe } from "../base/check.js";
import { showAs } from "../base/shown.js";
import { packConstant } from "../call/constant.js";
import { bytesOf } from "../tensor/bytes.js";
import { dataFromBytes, isDType } from "../tensor/dtypes.js";
import type {
  ConstantValue,
  DType,
  Graph,
  GraphArg,
  GraphNode,
  GraphValue,
  InputTensor,
  PassConstant,
  PassProgram,
  SignatureRow,
  SymbolRange,
  Tensor,
} from "../types/index.js";
import { NodeView, OutputView, Scope, type GraphView } from "./graph.js";
import type { PassCore, RawInput, RawMethod, RawRow } from "./raw.js";

/**
 * The method of a program that `replacePattern` calls. The symbol is the same in every copy of this
 * package: a worker has one, and the module of a pass that runs in the worker imports another.
 */
const REPLACE = Symbol.for("sconce.replacePattern");

/** The program of a pass, of whichever copy of this package. */
interface Replaceable {
  readonly [REPLACE]?: (pattern: string, replacement: string) => GraphValue[];
}

const rowOf = (name: string | null, { kind, target }: RawRow): SignatureRow =>
  Object.freeze({ name, kind, target });

class ConstantView implements PassConstant {
  constructor(
    private readonly scope: Scope,
    readonly node: NodeView,
    private readonly input: number,
    private readonly row: RawInput,
  ) {}
  get name(): string {
    return this.row.target;
  }
  get kind(): string {
    return this.row.kind;
  }
  get dtype(): PassConstant["dtype"] {
    return this.node.outs[0]!.dtype!;
  }
  get shape(): readonly number[] {
    return this.node.outs[0]!.shape as readonly number[];
  }
  bytes(): Uint8Array<ArrayBuffer> {
    return this.scope.live.constant(this.input, this.row.bytes!);
  }
  tensor(): Tensor {
    const { dtype, shape } = this;
    return { dtype, shape: [...shape], data: dataFromBytes(dtype, this.bytes()) } as Tensor;
  }
}

showAs(ConstantView.prototype, "PassConstant", ({ name, kind, dtype, shape }) => ({
  name,
  kind,
  dtype,
  shape,
}));

/** Its calls are bound, so that a pass may take them apart: ({ graph, addOutput }) => ... */
class ProgramView implements PassProgram {
  readonly method: string;
  readonly graph: Graph;
  readonly rangeConstraints: Readonly<Record<string, SymbolRange>>;
  private readonly inputs: RawInput[];
  private readonly outputs: RawRow[];
  private readonly placeholders: NodeView[];
  private readonly view: GraphView;

  constructor(
    readonly scope: Scope,
    raw: RawMethod,
  ) {
    this.method = raw.method;
    this.graph = this.view = scope.graphs.get(raw.graphs[0]!.id)!;
    this.inputs = [...raw.signature.inputs];
    this.outputs = [...raw.signature.outputs];
    this.placeholders = raw.graphs[0]!.inputs.map(({ id }) => scope.values.get(id)!);
    this.rangeConstraints = Object.freeze(
      Object.fromEntries(
        raw.ranges.map(({ symbol, min, max }): [string, SymbolRange] => [symbol, { min, max }]),
      ),
    );
  }

  get signature(): PassProgram["signature"] {
    const returned = this.graph.output.args[0] as readonly GraphArg[];
    return {
      inputs: this.inputs.map((row, i) => rowOf(this.placeholders[i]!.name, row)),
      outputs: this.outputs.map((row, i) => {
        const value = returned[i];
        const isValue = value instanceof NodeView || value instanceof OutputView;
        return rowOf(isValue ? value.name : null, row);
      }),
    };
  }

  get constants(): readonly PassConstant[] {
    return this.inputs.flatMap((row, i) =>
      row.bytes === undefined ? [] : [new ConstantView(this.scope, this.placeholders[i]!, i, row)],
    );
  }

  readonly stateDict = (): Readonly<Record<string, PassConstant>> => {
    const isState = ({ kind, persistent }: RawInput): boolean =>
      kind === "parameter" || (kind === "buffer" && persistent);
    const names = new Set(this.inputs.filter(isState).map(({ target }) => target));
    const kept = this.constants.filter(({ name }) => names.has(name));
    return Object.fromEntries(kept.map((constant) => [constant.name, constant]));
  };

  readonly addConstant = (name: string, tensor: InputTensor): GraphNode => {
    mustBe("name", "the name of addConstant()", name);
    const bytes = bytesOf(tensor, "the tensor of addConstant()");
    const { dtype, shape } = tensor;
    const { input, row } = this.scope.live.addConstant({ name, dtype, shape }, bytes);
    const node = this.view.addInput(input);
    this.inputs.push(row);
    this.placeholders.push(node);
    return node;
  };

  readonly addOutput = (value: GraphValue): void => {
    const added = this.scope.numberOf(value, "the value of addOutput()");
    const changed = this.scope.change({ do: "output", value: added });
    this.view.update(changed);
    this.outputs.splice(changed.at!, 0, { kind: "user", target: "" });
  };

  readonly setInputDType = (input: GraphNode, dtype: DType): void => {
    const value = this.scope.numberOf(input, "the input of setInputDType()");
    if (!isDType(dtype)) throw badArgument("the dtype of setInputDType()", "a dtype", dtype);
    this.view.update(this.scope.change({ do: "setDType", value, dtype }));
    (input as NodeView).setDType(dtype);
  };

  readonly addConstantMethod = (name: string, value: ConstantValue): void => {
    mustBe("name", "the name of addConstantMethod()", name);
    const { json, bytes } = packConstant(`the value of constant method '${name}'`, value);
    if (bytes.length > 0)
      throw badArgument(
        `the value of constant method '${name}'`,
        "a value without tensors: give these to toEdge({ constantMethods })",
        value,
      );
    this.scope.live.addConstantMethod(name, json);
  };

  readonly [REPLACE] = (pattern: string, replacement: string): GraphValue[] => {
    const { scope } = this;
    let roots: readonly number[] | undefined;
    try {
      ({ roots } = scope.change({ do: "replacePattern", pattern, replacement }));
    } catch (error) {
      // Matches before the one that failed stay replaced.
      if (!scope.isOver) scope.refresh();
      throw error;
    }
    if (!roots || roots.length === 0) return [];
    scope.refresh();
    return roots.map((id) => scope.valueOf(id));
  };

  readonly text = (): string => {
    return this.scope.live.text();
  };
}

showAs(ProgramView.prototype, "PassProgram", ({ method, graph }) => ({
  method,
  nodes: graph.nodes.length,
}));

/** A method as a pass gets it, and how it ends. */
export function passProgram(core: PassCore): { program: PassProgram; end: () => void } {
  const raw = core.method();
  const scope = new Scope(core, raw);
  const program = new ProgramView(scope, raw);
  return {
    program,
    end: () => {
      scope.isOver = true;
    },
  };
}

/**
 * The name of a node of the program, in bodies by their path: "true_graph_0/mul"; undefined for what
 * is no node of it.
 */
export function nodeNameIn(program: PassProgram, node: unknown): string | undefined {
  if (!(node instanceof NodeView) || node.scope !== (program as ProgramView).scope)
    return undefined;
  return node.graph.path === "" ? node.name : `${node.graph.path}/${node.name}`;
}

/** The nodes that took the places of matches; undefined for what is no program of a pass. */
export function replaceIn(
  program: PassProgram,
  pattern: string,
  replacement: string,
): GraphValue[] | undefined {
  return (program as Replaceable | undefined)?.[REPLACE]?.(pattern, replacement);
}
