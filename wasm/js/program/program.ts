// A program in an engine: what it does besides running needs tools that a runtime leaves out.
import { badArgument, isPlain, mustBe } from "../base/check.js";
import type { Job } from "../module/job.js";
import { SconceError } from "../base/errors.js";
import { checkOptions } from "../call/protocol.js";
import { writeSuites } from "./bundle.js";
import { LoadedProgram } from "./loaded.js";
import type { DTypeTable } from "./dtype_table.js";
import { Output } from "../module/output.js";
import { Sgd, trainedMethod, Training } from "./training.js";
import { methodNamed, orderedInputs, wholeCall } from "./call.js";
import { programSummary, showAs } from "../base/shown.js";
import type {
  CallOptions,
  GivenTestCase,
  GivenTestSuite,
  Program,
  ProgramCall,
  SgdOptimizer,
  SgdOptions,
  Tensor,
  InputTensor,
  TestCase,
  Value,
} from "../types/index.js";

/** A loaded .pte, on a job of the engine. */
export class WholeProgram extends LoadedProgram implements Program {
  private readonly training: Training;

  constructor(job: Job | undefined, dtypes: DTypeTable) {
    super(job, dtypes);
    this.training = new Training(dtypes);
  }

  partText(method: string, part: number): string {
    mustBe("text", "the method of partText()", method);
    mustBe("index", "the part of partText()", part);
    const { open } = this;
    return open.core.memory.withTexts([method], (name, bytes) =>
      open.textOf((raw, s) => raw.run_part_text(s, name!, bytes!, Math.min(part, 2 ** 32 - 1))),
    );
  }

  // --- Training ---

  forwardBackward(...call: ProgramCall): Value[] {
    const { open } = this;
    const whole = wholeCall("forwardBackward", call, () => this.reportOf(open).methods);
    return open.hold(() => {
      methodNamed(whole.method, this.reportOf(open).methods);
      const { number, results } = this.training.of(open, whole.method);
      this.execute(open, whole);
      open.call({}, (raw, s) => raw.train_keep(s, number));
      return this.outputs(open, results);
    });
  }

  private trained(method: string | undefined): string {
    if (method !== undefined) mustBe("text", "the method that is trained", method);
    return trainedMethod(this.methods, method);
  }

  namedParameters(method?: string): Record<string, Tensor> {
    const { open } = this;
    const name = this.trained(method);
    return open.hold(() => this.training.tensors(open, name, false));
  }

  setNamedParameters(parameters: Readonly<Record<string, InputTensor>>, method?: string): void {
    const { open } = this;
    const name = this.trained(method);
    open.hold(() => this.training.set(open, name, parameters));
  }

  namedGradients(method?: string): Record<string, Tensor> {
    const { open } = this;
    const name = this.trained(method);
    return open.hold(() => this.training.tensors(open, name, true));
  }

  sgd(options: SgdOptions): SgdOptimizer {
    const { open } = this;
    if (!isPlain(options))
      throw badArgument("the options of sgd()", "{ lr: NUMBER, ... }", options);
    checkOptions("Program", "sgd", options);
    const { number } = this.training.of(open, this.trained(options.method));
    return Sgd.of(() => this.job, number, options);
  }

  // --- Bundles ---

  /** The program with calls of its methods; calls without expected results get what they return. */
  bundle(suites: readonly GivenTestSuite[], options: CallOptions): Uint8Array<ArrayBuffer> {
    const { open } = this;
    const complete = suites.map(({ methodName, testCases }) => ({
      methodName,
      testCases: testCases.map((one, i) => this.wholeCase(methodName, one, options, i)),
    }));
    const file = writeSuites(open, complete, this.reportOf(open), this.dtypes);
    const bytes = open.enter({}, (raw, s) => raw.output_bytes(s, file));
    const output = new Output(() => open, file, bytes);
    try {
      return output.whole();
    } finally {
      output.free();
    }
  }

  /** A test case with its inputs in order, and with what it returns where it does not say that. */
  private wholeCase(
    method: string,
    given: GivenTestCase,
    { signal, onProgress }: CallOptions,
    testCase: number,
  ): TestCase {
    const { inputs, expectedOutputs } = given;
    try {
      const ordered = Array.isArray(inputs)
        ? (inputs as readonly Value[])
        : orderedInputs(inputs, methodNamed(method, this.reportOf(this.open).methods));
      if (expectedOutputs !== undefined) return { inputs: ordered, expectedOutputs };
      this.reset();
      const call = { ...(signal && { signal }), ...(onProgress && { onProgress }) };
      return { inputs: ordered, expectedOutputs: this.run(method, inputs, call) };
    } catch (error) {
      if (!(error instanceof SconceError)) throw error;
      const where = `case ${testCase} of method '${method}'`;
      throw new SconceError(error.code, `${where}: ${error.message}`, error.hint);
    }
  }
}

showAs(WholeProgram.prototype, "Program", (program) => programSummary(program.inspect()));
