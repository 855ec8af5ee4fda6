// Further attempts at a window of speech, as Whisper makes them: a text that repeats itself, or that the
// model finds unlikely, is written again with more chance in it.
import { hostModule } from "../base/host.js";
import { number, SEED } from "./options.js";
import { randomSeed } from "./random.js";
import { Sampler } from "./sampler.js";
import type { TranscribeOptions } from "./speech_types.js";
import type { Kind } from "../base/check.js";

/** The temperatures of Whisper's own command. */
const TEMPERATURES = [0, 0.2, 0.4, 0.6, 0.8, 1];
const ATTEMPTS_MAX = 16;
/** Seeds of attempts lie this far apart: 2^64 divided by the golden ratio. */
const APART = 0x9e3779b97f4a7c15n;

const isTemperature = (value: unknown): boolean =>
  typeof value === "number" && value >= 0 && value < Infinity;
const isTemperatures = (value: unknown): boolean =>
  Array.isArray(value) &&
  value.length > 0 &&
  value.length <= ATTEMPTS_MAX &&
  Array.from(value).every(isTemperature);

const orNull = ({ accepts, test }: Kind): Kind => ({
  accepts: `${accepts}, or null`,
  test: (value) => value === null || test(value),
});
const finite = number("a number", Number.isFinite);

/** The options of `transcribe` that are about attempts. */
export const ATTEMPT_OPTIONS = {
  temperature: {
    accepts: `a number, 0 or more, or a list of 1 to ${ATTEMPTS_MAX} of them`,
    test: (value: unknown) => isTemperature(value) || isTemperatures(value),
  },
  compressionRatioThreshold: orNull(finite),
  logProbabilityThreshold: orNull(finite),
  noSpeechThreshold: orNull(finite),
  seed: SEED,
} as const;

/** Facts about the text of an attempt. */
export interface Judged {
  readonly meanLogProbability: number;
  readonly compressionRatio: number;
  readonly noSpeechProbability: number;
}

/** The attempts of a transcription, and the limits that its texts should keep to. */
export class Attempts {
  /** The temperatures in their order, each with what chooses its tokens. */
  readonly all: readonly { temperature: number; sampler: Sampler }[];
  private readonly ratio: number;
  private readonly probability: number | null;
  private readonly silence: number | null;

  constructor(options: TranscribeOptions) {
    const {
      temperature = TEMPERATURES,
      compressionRatioThreshold = 2.4,
      logProbabilityThreshold = -1,
      noSpeechThreshold = 0.6,
      seed = randomSeed(),
    } = options;
    this.ratio = compressionRatioThreshold ?? Infinity;
    this.probability = logProbabilityThreshold;
    this.silence = noSpeechThreshold;
    const list: readonly number[] = typeof temperature === "number" ? [temperature] : temperature;
    this.all = list.map((one, i) => ({
      temperature: one,
      sampler: new Sampler({
        ...{ temperature: one, topK: 0, topP: 1, minP: 0, repetitionPenalty: 1 },
        seed: BigInt(seed) + BigInt(i) * APART,
      }),
    }));
  }

  private isUnlikely({ meanLogProbability }: Judged): boolean {
    return this.probability !== null && !(meanLogProbability >= this.probability);
  }

  /** True if there is no speech, whatever the text says. */
  isSilent(text: Judged): boolean {
    const isQuiet = this.silence !== null && text.noSpeechProbability > this.silence;
    return isQuiet && (this.probability === null || this.isUnlikely(text));
  }

  /** True if another attempt may give a better text. */
  isPoor(text: Judged): boolean {
    const isPoor = text.compressionRatio > this.ratio || this.isUnlikely(text);
    return isPoor && !(this.isUnlikely(text) && this.isSilent(text));
  }
}

/** How many times shorter a text becomes when it is packed: much, if it repeats itself. */
export async function compressionRatio(text: string): Promise<number> {
  const bytes = new TextEncoder().encode(text);
  if (bytes.length === 0) return 0;
  const zlib = hostModule<typeof import("node:zlib")>("node:zlib");
  if (zlib) return bytes.length / zlib.deflateSync(bytes).length;
  const packed = new Blob([bytes]).stream().pipeThrough(new CompressionStream("deflate"));
  const { byteLength } = await new Response(packed).arrayBuffer();
  return bytes.length / byteLength;
}
