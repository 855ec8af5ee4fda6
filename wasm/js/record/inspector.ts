// The inspector on a job of its own. The core answers in the shapes of types/inspector.ts; numbers
// that JSON does not have come as text.
import { badArgument, isPlain, mustBe } from "../base/check.js";
import { Job } from "../module/job.js";
import { Disposing } from "../base/dispose.js";
import { disposed, SconceError } from "../base/errors.js";
import { gapCall } from "../call/gap.js";
import { inflateSync } from "../module/inflate.js";
import { checkOptions } from "../call/protocol.js";
import { showAs } from "../base/shown.js";
import { isInflated, isSource, SOURCES } from "../source/kinds.js";
import type {
  CallOptions,
  DelegationTotals,
  DumpComparison,
  EventBlock,
  GapOptions,
  GapReport,
  Inspector,
  InspectorEvent,
  InspectorFiles,
  InspectorOptions,
  InspectorReport,
  InspectorTotal,
  LoggedValue,
  MemoryPlan,
  Source,
  StageDiff,
  StageNode,
  Timeline,
} from "../types/index.js";

const FILES = ["etdump", "etrecord", "debugBuffer", "program"] as const;
const ACCEPTS = `an object with the sources ${FILES.join(", ")}`;

function checkFiles(what: string, files: InspectorFiles): void {
  const given: unknown = files;
  if (isSource(given) || !isPlain(given)) throw badArgument(what, ACCEPTS, given);
  for (const [name, source] of Object.entries(files)) {
    if (!FILES.includes(name as (typeof FILES)[number]))
      throw new SconceError("argument", `${what} has no '${name}'`, `Pass ${ACCEPTS}.`);
    if (source !== undefined && !isSource(source))
      throw badArgument(`'${name}' of ${what}`, SOURCES, source);
  }
  if (files["debugBuffer"] !== undefined && files["etdump"] === undefined)
    throw new SconceError("argument", "a debug buffer belongs to a dump", "Pass the etdump, too.");
}

const NUMBERS = new Set(["Infinity", "-Infinity", "NaN"]);
/** Members that are numbers, or lists of them, in every answer. */
const NUMERIC = new Set(["snr", "mse", "l1", "cosine", "max", "first", "raw", "ratio"]);

/** JSON with the numbers that it cannot hold. */
function parse(json: string): unknown {
  const number = (item: unknown): unknown =>
    typeof item === "string" && NUMBERS.has(item) ? Number(item) : item;
  return JSON.parse(json, (key, value: unknown) =>
    !NUMERIC.has(key) ? value : Array.isArray(value) ? value.map(number) : number(value),
  );
}

/** A moment of a delegate's clock: its name, when it began, when it ended. */
type Ticks = readonly [name: string, start: number, end: number];

/** When delegates' events began and ended by the caller's own clock, in the order of the dump. */
function convertedTimes(
  job: Job,
  { etdump }: InspectorFiles,
  delegateTime: NonNullable<InspectorOptions["delegateTime"]>,
): number[] | undefined {
  if (etdump === undefined) return undefined;
  const own = new Job(job.core);
  try {
    open(own, { etdump }, {});
    const ticks = JSON.parse(ask(own, "ticks")) as Ticks[];
    const convert = (name: string, moment: number): number => {
      const time: unknown = delegateTime(name, moment);
      if (typeof time === "number" && Number.isFinite(time)) return time;
      throw badArgument("what 'delegateTime' of inspector() returns", "a finite number", time);
    };
    return ticks.flatMap(([name, start, end]) => [convert(name, start), convert(name, end)]);
  } finally {
    own.release();
  }
}

const ENCODER = new TextEncoder();

function metadataOf({ metadata, isMetadataText }: InspectorEvent): Uint8Array<ArrayBuffer> {
  if (isMetadataText) return ENCODER.encode(metadata!);
  return Uint8Array.from(metadata!.match(/../g) ?? [], (digits) => parseInt(digits, 16));
}

/** Events with what the caller makes of their metadata. */
function withMetadata(
  blocks: EventBlock[],
  read: InspectorOptions["delegateMetadata"],
): EventBlock[] {
  const ownMetadata = (event: InspectorEvent): InspectorEvent["delegateMetadata"] => {
    if (event.metadata === null || !read) return null;
    const found: unknown = read(metadataOf(event), event.name);
    if (isPlain(found)) return found;
    throw badArgument("what 'delegateMetadata' of inspector() returns", "a plain object", found);
  };
  return blocks.map((block) => ({
    ...block,
    events: block.events.map((event) => ({ ...event, delegateMetadata: ownMetadata(event) })),
  }));
}

/** A value with the place of its elements in memory. */
type Placed = LoggedValue & { at?: number; elements?: number };

/** Takes the elements out of memory, where they are until the next query. */
function takeElements(job: Job, { rows, outputs }: GapReport): void {
  const take = (value: Placed): void => {
    const { at = 0, elements = 0 } = value;
    value.data = new Float64Array(job.core.memory.copy(at, 8 * elements).buffer);
    delete value.at;
    delete value.elements;
  };
  for (const { reference, found } of [...rows.flatMap((row) => row.outputs), ...outputs]) {
    take(reference);
    take(found);
  }
}

function ask(job: Job, what: string, more: object = {}, options: CallOptions = {}): string {
  return job.core.memory.withTexts([JSON.stringify({ what, ...more })], (text, bytes) =>
    job.textOf((raw, s) => raw.inspector_query(s, text!, bytes!), options),
  );
}

function open(job: Job, files: InspectorFiles, options: InspectorOptions): void {
  const handle = (name: keyof InspectorFiles): number => {
    const source = files[name];
    return source === undefined ? 0 : job.addSource(source, `'${name}' of inspector()`);
  };
  const [dump, record, buffer, pte] = FILES.map(handle) as [number, number, number, number];
  const { sourceTimeScale, targetTimeScale, method, delegateTime } = options;
  const delegateTimes = delegateTime && convertedTimes(job, files, delegateTime);
  const given = JSON.stringify({ sourceTimeScale, targetTimeScale, method, delegateTimes });
  job.core.memory.withTexts([given], (text, bytes) =>
    job.call(options, (raw, s) => raw.inspector_open(s, dump, record, buffer, pte, text!, bytes!)),
  );
}

/** The files with a compressed record inflated, where that can be done at once. */
function inflated(job: Job, files: InspectorFiles, error: unknown): InspectorFiles {
  const { etrecord } = files;
  const isCompressed = error instanceof SconceError && error.code === "compressed";
  if (!isCompressed || etrecord === undefined || isInflated(etrecord)) throw error;
  const whole: Source | undefined = inflateSync(job.core, etrecord);
  if (whole) return { ...files, etrecord: whole };
  const hint = "Pass await engine.inflate(etrecord), or use the client, which does it by itself.";
  throw new SconceError("compressed", error.message, hint);
}

class JobInspector extends Disposing implements Inspector {
  readonly [Symbol.toStringTag] = "Inspector";

  constructor(
    private held: Job | undefined,
    private readonly files: InspectorFiles,
    private readonly options: InspectorOptions,
  ) {
    super();
    held?.own(this);
  }

  private get job(): Job {
    if (!this.held) throw disposed("Inspector");
    return this.held;
  }

  private ask(what: string, more: object = {}, options: CallOptions = {}): string {
    return ask(this.job, what, more, options);
  }

  report(): InspectorReport {
    return parse(this.ask("report")) as InspectorReport;
  }

  events(): EventBlock[] {
    return withMetadata(parse(this.ask("events")) as EventBlock[], this.options.delegateMetadata);
  }

  ops(): InspectorTotal[] {
    return parse(this.ask("ops")) as InspectorTotal[];
  }

  modules(): InspectorTotal[] {
    return parse(this.ask("modules")) as InspectorTotal[];
  }

  timeline(): Timeline {
    return parse(this.ask("timeline")) as Timeline;
  }

  trace(): string {
    return this.ask("trace");
  }

  delegation(): DelegationTotals[] {
    return parse(this.ask("delegation")) as DelegationTotals[];
  }

  memory(): MemoryPlan[] {
    return parse(this.ask("memory")) as MemoryPlan[];
  }

  numericGap(options: GapOptions = {}): GapReport {
    checkOptions("Inspector", "numericGap", options);
    const { asked, finish } = gapCall(options);
    const { method, reference, values } = asked;
    const { job } = this;
    const report = job.hold(() => {
      const found = parse(this.ask("gap", { method, reference, values }, asked)) as GapReport;
      if (values) takeElements(job, found);
      return found;
    });
    return finish(report);
  }

  compare(files: InspectorFiles, options: InspectorOptions = {}): DumpComparison {
    checkOptions("Inspector", "compare", options);
    checkFiles("the files of compare()", files);
    const { job } = this;
    const { etrecord } = this.files;
    const other = new Job(job.core);
    try {
      const both = etrecord === undefined ? files : { etrecord, ...files };
      opened(other, both, { ...this.options, ...options });
      return job.hold(() =>
        other.hold(
          () =>
            parse(
              job.textOf((raw, s) => raw.inspector_compare(s, other.handle), options),
            ) as DumpComparison,
        ),
      );
    } finally {
      other.release();
    }
  }

  nodes(stage: string, method = ""): StageNode[] {
    mustBe("text", "the stage of nodes()", stage);
    mustBe("text", "the method of nodes()", method);
    return parse(this.ask("nodes", { stage, method })) as StageNode[];
  }

  text(stage: string, method = ""): string {
    mustBe("text", "the stage of text()", stage);
    mustBe("text", "the method of text()", method);
    return this.ask("text", { stage, method });
  }

  diff(from: string, to: string, method = ""): StageDiff {
    mustBe("text", "the first stage of diff()", from);
    mustBe("text", "the second stage of diff()", to);
    mustBe("text", "the method of diff()", method);
    return parse(this.ask("diff", { from, to, method })) as StageDiff;
  }

  dispose(): void {
    const { held } = this;
    this.held = undefined;
    held?.disown(this);
  }
}

showAs(JobInspector.prototype, "Inspector", (inspector) => {
  const { etdump, etrecord, warnings } = inspector.report();
  return { etdump, etrecord: etrecord && { methods: etrecord.methods }, warnings };
});

/** Opens the files on the job, and gives them as they were opened. */
function opened(job: Job, files: InspectorFiles, options: InspectorOptions): InspectorFiles {
  try {
    open(job, files, options);
    return files;
  } catch (error) {
    const whole = inflated(job, files, error);
    open(job, whole, options);
    return whole;
  }
}

/** Opens the files on a job that becomes the inspector's. */
export function openInspector(
  job: Job,
  files: InspectorFiles,
  options: InspectorOptions,
): Inspector {
  checkFiles("the files of inspector()", files);
  const given = opened(job, files, options);
  const { signal, onProgress, ...scales } = options;
  void signal;
  void onProgress;
  return new JobInspector(job, given, scales);
}
