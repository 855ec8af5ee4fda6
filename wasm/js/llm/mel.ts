// The features of Whisper: the logarithm of a mel spectrogram, 100 frames for each second of sound.
import { SAMPLE_RATE } from "./sound.js";

/** Samples of a window of 30 seconds. */
export const WINDOW_SAMPLES = 30 * SAMPLE_RATE;
const HOP = 160;
const SIZE = 400;
/** Frames of a window. */
export const FRAMES = WINDOW_SAMPLES / HOP;
const BINS = SIZE / 2 + 1;

/** A Fourier transform of 400 complex numbers: halves, down to transforms of 25. */
class Transform {
  private readonly cos = Float64Array.from({ length: SIZE }, (_, i) =>
    Math.cos((2 * Math.PI * i) / SIZE),
  );
  private readonly sin = Float64Array.from(
    { length: SIZE },
    (_, i) => -Math.sin((2 * Math.PI * i) / SIZE),
  );
  private readonly roomRe = new Float64Array(SIZE);
  private readonly roomIm = new Float64Array(SIZE);
  readonly re = new Float64Array(SIZE);
  readonly im = new Float64Array(SIZE);

  /** Transforms the numbers, and writes the result to `re` and `im`. */
  run(re: Float64Array, im: Float64Array): void {
    this.part(re, im, 0, 1, SIZE, 0);
  }

  /** Transforms `count` numbers from `from`, each `step` from the next one, to `to`. */
  private part(
    re: Float64Array,
    im: Float64Array,
    from: number,
    step: number,
    count: number,
    to: number,
  ): void {
    if (count % 2 === 1) return this.small(re, im, from, step, count, to);
    const half = count / 2;
    this.part(re, im, from, 2 * step, half, to);
    this.part(re, im, from + step, 2 * step, half, to + half);
    const { cos, sin, re: outRe, im: outIm } = this;
    for (let k = 0; k < half; k++) {
      const [a, b] = [to + k, to + half + k];
      const [c, s] = [cos[k * step]!, sin[k * step]!];
      const oddRe = outRe[b]! * c - outIm[b]! * s;
      const oddIm = outRe[b]! * s + outIm[b]! * c;
      outRe[b] = outRe[a]! - oddRe;
      outIm[b] = outIm[a]! - oddIm;
      outRe[a]! += oddRe;
      outIm[a]! += oddIm;
    }
  }

  private small(
    re: Float64Array,
    im: Float64Array,
    from: number,
    step: number,
    count: number,
    to: number,
  ): void {
    const { cos, sin, roomRe, roomIm } = this;
    for (let i = 0; i < count; i++) {
      roomRe[i] = re[from + i * step]!;
      roomIm[i] = im[from + i * step]!;
    }
    for (let k = 0; k < count; k++) {
      let [sumRe, sumIm] = [0, 0];
      for (let i = 0, at = 0; i < count; i++) {
        sumRe += roomRe[i]! * cos[at]! - roomIm[i]! * sin[at]!;
        sumIm += roomRe[i]! * sin[at]! + roomIm[i]! * cos[at]!;
        at += k * step;
        if (at >= SIZE) at -= SIZE;
      }
      this.re[to + k] = sumRe;
      this.im[to + k] = sumIm;
    }
  }
}

/** Slaney's scale: linear up to 1000 Hz, and then logarithmic. */
const LINEAR = 200 / 3;
const LOGARITHMIC = Math.log(6.4) / 27;
const melOf = (hertz: number): number =>
  hertz < 1000 ? hertz / LINEAR : 15 + Math.log(hertz / 1000) / LOGARITHMIC;
const hertzOf = (mel: number): number =>
  mel < 15 ? mel * LINEAR : 1000 * Math.exp(LOGARITHMIC * (mel - 15));

/** A triangle over some of the bins. */
interface Filter {
  readonly first: number;
  readonly weights: readonly number[];
}

function filtersOf(count: number): Filter[] {
  const most = melOf(SAMPLE_RATE / 2);
  const edges = Array.from({ length: count + 2 }, (_, i) => hertzOf((most * i) / (count + 1)));
  return Array.from({ length: count }, (_, i): Filter => {
    const [low, middle, high] = edges.slice(i, i + 3) as [number, number, number];
    const all = Array.from({ length: BINS }, (_, bin) => {
      const hertz = (bin * SAMPLE_RATE) / SIZE;
      const rising = (hertz - low) / (middle - low);
      const falling = (high - hertz) / (high - middle);
      return (Math.max(0, Math.min(rising, falling)) * 2) / (high - low);
    });
    const first = Math.max(
      0,
      all.findIndex((weight) => weight > 0),
    );
    const last = all.findLastIndex((weight) => weight > 0);
    return { first, weights: all.slice(first, last + 1) };
  });
}

/** A periodic Hann window. */
const HANN = /* @__PURE__ */ Float64Array.from(
  { length: SIZE },
  (_, i) => 0.5 - 0.5 * Math.cos((2 * Math.PI * i) / SIZE),
);

/** Index of a sample where the sound is reflected at its ends. */
function reflected(at: number): number {
  if (at < 0) return -at;
  return at < WINDOW_SAMPLES ? at : 2 * (WINDOW_SAMPLES - 1) - at;
}

/**
 * The features [count, 3000] of 30 seconds of sound. Shorter sound is followed by silence.
 */
export function melFeatures(samples: Float32Array, count: number): Float32Array<ArrayBuffer> {
  const filters = filtersOf(count);
  const transform = new Transform();
  const [re, im] = [new Float64Array(SIZE), new Float64Array(SIZE)];
  const power = [new Float64Array(BINS), new Float64Array(BINS)] as const;
  const features = new Float32Array(count * FRAMES);
  let greatest = -Infinity;
  const fill = (into: Float64Array, frame: number): void => {
    const begin = frame * HOP - SIZE / 2;
    for (let i = 0; i < SIZE; i++) into[i] = (samples[reflected(begin + i)] ?? 0) * HANN[i]!;
  };
  const store = (spectrum: Float64Array, frame: number): void => {
    filters.forEach(({ first, weights }, i) => {
      let sum = 0;
      for (let k = 0; k < weights.length; k++) sum += weights[k]! * spectrum[first + k]!;
      const value = Math.log10(Math.max(sum, 1e-10));
      features[i * FRAMES + frame] = value;
      if (value > greatest) greatest = value;
    });
  };
  // Two frames at once: one as the real part, the other as the imaginary part.
  for (let frame = 0; frame < FRAMES; frame += 2) {
    fill(re, frame);
    fill(im, frame + 1);
    transform.run(re, im);
    const { re: outRe, im: outIm } = transform;
    for (let k = 0; k < BINS; k++) {
      const mirror = (SIZE - k) % SIZE;
      const [a, b, c, d] = [outRe[k]!, outIm[k]!, outRe[mirror]!, outIm[mirror]!];
      power[0][k] = ((a + c) ** 2 + (b - d) ** 2) / 4;
      power[1][k] = ((b + d) ** 2 + (a - c) ** 2) / 4;
    }
    store(power[0], frame);
    store(power[1], frame + 1);
  }
  const least = greatest - 8;
  for (let i = 0; i < features.length; i++) features[i] = (Math.max(features[i]!, least) + 4) / 4;
  return features;
}
