// The public type of an emitted program: the tables of ExecuTorch's program.fbs, by their own names.
// Fields that have their default (0, false, "") are left out.

/** A program as its file has it. Its weights are in segments after it. */
export interface ExecutorchProgram {
  /** The methods, in the order of the file. */
  readonly execution_plan?: readonly ExecutionPlan[];
  /** The places of the segments, in bytes from the first. */
  readonly segments?: readonly { readonly offset?: number; readonly size?: number }[];
  /** Offsets of the weights in their segment. */
  readonly constant_segment?: object;
  /** Initial states of buffers. */
  readonly mutable_data_segments?: readonly object[];
  /** Data with a name, and the segment of each. */
  readonly named_data?: readonly { readonly key: string; readonly segment_index?: number }[];
  readonly [field: string]: unknown;
}

/** A method: its values, and the instructions that work on them. */
export interface ExecutionPlan {
  /** The name of the method. */
  readonly name: string;
  /** The values. Instructions refer to them by index. */
  readonly values?: readonly PlanValue[];
  /** The indices of the inputs among the values. */
  readonly inputs?: readonly number[];
  /** The indices of the outputs among the values. */
  readonly outputs?: readonly number[];
  /** Lists of instructions; programs have one. */
  readonly chains?: readonly {
    readonly inputs?: readonly number[];
    readonly outputs?: readonly number[];
    readonly instructions?: readonly Instruction[];
    /** The lines of the model for each instruction, if emitStacktrace was set. */
    readonly stacktrace?: readonly { readonly items?: readonly StackFrame[] }[];
  }[];
  /** The operators. Kernel calls refer to them by index. */
  readonly operators?: readonly { readonly name: string; readonly overload?: string }[];
  /** The delegates. Delegate calls refer to them by index. */
  readonly delegates?: readonly { readonly id: string; readonly [field: string]: unknown }[];
  /** Bytes of planned memory, by memory id. The first is not used. */
  readonly non_const_buffer_sizes?: readonly (number | bigint)[];
  readonly [field: string]: unknown;
}

/** A frame of a Python stack trace. */
export interface StackFrame {
  /** The file. */
  readonly filename: string;
  /** The number of the line. */
  readonly lineno?: number;
  /** The function. */
  readonly name: string;
  /** The line itself. */
  readonly context: string;
}

/** A value: a tensor, a number, a list. */
export interface PlanValue {
  /** "Tensor", "Int", "Double", "IntList" and so on; absent: no value. */
  readonly val_type?: string;
  /** The fields of that table; integers beyond 2^53 are bigints. */
  readonly val?: Readonly<Record<string, unknown>>;
}

/** An instruction. */
export interface Instruction {
  /** "KernelCall", "DelegateCall", "MoveCall", "JumpFalseCall" or "FreeCall". */
  readonly instr_args_type?: string;
  /** The fields of that table. */
  readonly instr_args?: Readonly<Record<string, unknown>>;
}
