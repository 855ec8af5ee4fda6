// Sound for a speech model: samples at its rate, and files of WAVE.
import { badArgument, isObject } from "../base/check.js";
import { SconceError } from "../base/errors.js";
import type { Sound } from "./types.js";

/** The rate of Whisper and its relatives. */
export const SAMPLE_RATE = 16_000;
/** Rates of recorders. Others are mistakes, and would need a filter without end. */
const RATES = { least: 1000, most: 768_000 };
/** Zero crossings of the filter on each side: more is sharper and slower. */
const CROSSINGS = 16;

/** Sound at another rate, by a windowed sinc that keeps what both rates can hold. */
function resampled(samples: Float32Array, from: number, to: number): Float32Array {
  const scale = Math.min(1, to / from);
  const reach = CROSSINGS / scale;
  const result = new Float32Array(Math.floor((samples.length * to) / from));
  for (let i = 0; i < result.length; i++) {
    const centre = (i * from) / to;
    const first = Math.max(0, Math.ceil(centre - reach));
    const last = Math.min(samples.length - 1, Math.floor(centre + reach));
    let sum = 0;
    for (let at = first; at <= last; at++) {
      const x = (at - centre) * scale;
      const sinc = x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x);
      const window = 0.5 + 0.5 * Math.cos((Math.PI * x) / CROSSINGS);
      sum += samples[at]! * sinc * window;
    }
    result[i] = sum * scale;
  }
  return result;
}

/** The samples of a sound at the model's rate. */
export function samplesOf(sound: unknown): Float32Array {
  if (sound instanceof Float32Array) return sound;
  const { samples, sampleRate } = (isObject(sound) ? sound : {}) as Partial<Sound>;
  const isRate =
    typeof sampleRate === "number" && sampleRate >= RATES.least && sampleRate <= RATES.most;
  if (!(samples instanceof Float32Array) || !isRate)
    throw badArgument(
      "the sound of transcribe()",
      "a Float32Array, or { samples, sampleRate } with a rate from 1,000 to 768,000",
      sound,
    );
  return sampleRate === SAMPLE_RATE ? samples : resampled(samples, sampleRate, SAMPLE_RATE);
}

// --- WAVE --------------------------------------------------------------------------------------------

const PCM = 1;
const FLOAT = 3;
const EXTENSIBLE = 0xfffe;

type Read = (view: DataView, at: number) => number;

/** Readers of one sample, by format and bits. */
const READERS: Readonly<Record<string, Read>> = {
  [`${PCM} 8`]: (view, at) => (view.getUint8(at) - 128) / 128,
  [`${PCM} 16`]: (view, at) => view.getInt16(at, true) / 2 ** 15,
  [`${PCM} 24`]: (view, at) => (view.getUint8(at) | (view.getInt16(at + 1, true) << 8)) / 2 ** 23,
  [`${PCM} 32`]: (view, at) => view.getInt32(at, true) / 2 ** 31,
  [`${FLOAT} 32`]: (view, at) => view.getFloat32(at, true),
  [`${FLOAT} 64`]: (view, at) => view.getFloat64(at, true),
};

const badFile = (message: string): SconceError =>
  new SconceError("format", message, "Pass a .wav file with samples that are not compressed.");

interface Format {
  readonly read: Read;
  readonly channels: number;
  readonly sampleRate: number;
  readonly bytes: number;
}

function formatAt(view: DataView, at: number, size: number): Format {
  if (size < 16) throw badFile("the .wav file has a format of less than 16 bytes");
  const bits = view.getUint16(at + 14, true);
  const kind = view.getUint16(at, true);
  const code = kind === EXTENSIBLE && size >= 26 ? view.getUint16(at + 24, true) : kind;
  const channels = view.getUint16(at + 2, true);
  const read = READERS[`${code} ${bits}`];
  if (!read || channels === 0)
    throw badFile(`the .wav file has ${channels} channels of format ${code} with ${bits} bits`);
  return { read, channels, sampleRate: view.getUint32(at + 4, true), bytes: bits / 8 };
}

/**
 * Reads a .wav file. Several channels become their mean.
 * @throws SconceError with the code "format" for other files, and for compressed samples.
 * @example
 * const { text } = await speech.transcribe(decodeWav(bytes)).result();
 */
export function decodeWav(file: Uint8Array | ArrayBuffer): Sound {
  const bytes = file instanceof Uint8Array ? file : new Uint8Array(file);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const wordAt = (at: number): string => String.fromCharCode(...bytes.subarray(at, at + 4));
  if (bytes.length < 12 || wordAt(0) !== "RIFF" || wordAt(8) !== "WAVE")
    throw badFile("the file does not begin as a .wav file does");
  let format: Format | undefined;
  for (let at = 12; at + 8 <= bytes.length;) {
    const size = view.getUint32(at + 4, true);
    const left = bytes.length - at - 8;
    if (wordAt(at) === "fmt " && size <= left) format = formatAt(view, at + 8, size);
    if (wordAt(at) === "data") {
      if (!format) throw badFile("the .wav file has samples before their format");
      // Recorders that were stopped leave a size that is too large.
      return readSamples(view, at + 8, Math.min(size, left), format);
    }
    at += 8 + size + (size % 2);
  }
  throw badFile("the .wav file has no samples");
}

function readSamples(view: DataView, begin: number, size: number, format: Format): Sound {
  const { read, channels, sampleRate, bytes } = format;
  const frame = bytes * channels;
  const samples = new Float32Array(Math.floor(size / frame));
  for (let i = 0; i < samples.length; i++) {
    let sum = 0;
    for (let channel = 0; channel < channels; channel++)
      sum += read(view, begin + i * frame + channel * bytes);
    samples[i] = sum / channels;
  }
  return { samples, sampleRate };
}
