// Sound that the browser decodes, from files and from the microphone: one channel at the rate of
// speech models.
import { fault } from "./problems.js";

const RATE = 16_000;
/** A file is held as a whole while it is decoded. */
const FILE_BYTES_MAX = 2 ** 29;

const unreadable = (name: string): Error =>
  fault(
    "format",
    `${name} has no sound that this browser can read`,
    "Use a WAV, MP3, M4A, FLAC, Ogg or WebM file.",
  );

/** The mean of the channels. The browser computes it in a thread of its own. */
function asOneChannel(sound: AudioBuffer): Promise<AudioBuffer> {
  const context = new OfflineAudioContext(1, sound.length, RATE);
  const source = context.createBufferSource();
  source.buffer = sound;
  source.connect(context.destination);
  source.start();
  return context.startRendering();
}

/** Decodes a file of sound. */
export async function decodeSound(file: Blob, name: string): Promise<AudioBuffer> {
  if (file.size > FILE_BYTES_MAX)
    throw fault(
      "limit",
      `${name} is larger than ${FILE_BYTES_MAX / 2 ** 20} MB`,
      "Cut it into shorter files.",
    );
  const bytes = await file.arrayBuffer().catch(() => {
    throw fault("io", `${name} cannot be read`, "Check that the file is still there.");
  });
  // Decoding brings the sound to the rate of its context.
  const decoder = new OfflineAudioContext(1, 1, RATE);
  const sound = await decoder.decodeAudioData(bytes).catch(() => {
    throw unreadable(name);
  });
  if (sound.length === 0) throw unreadable(name);
  return sound.numberOfChannels > 1 ? asOneChannel(sound) : sound;
}

// --- The microphone ----------------------------------------------------------------------------------

/** Why there is no sound, by the name of the browser's error. */
const MICROPHONE_FAULTS: Record<string, string> = {
  NotAllowedError: "the microphone is not allowed for this page",
  NotFoundError: "this machine has no microphone",
  NotReadableError: "another program uses the microphone",
};

/** A recording that is under way. */
export interface Recording {
  /** Ends it. Gives the sound. */
  stop(): Promise<Blob>;
  /** Ends it, and drops the sound. */
  drop(): void;
}

const LOOK_MS = 100;
/** The quietest level that is shown, in decibels below the loudest. */
const FLOOR_DB = 60;

function levelOf(samples: Float32Array): number {
  const power = samples.reduce((sum, value) => sum + value * value, 0) / samples.length;
  return Math.max(0, 1 + (10 * Math.log10(power + 1e-12)) / FLOOR_DB);
}

async function openMicrophone(): Promise<MediaStream> {
  // Pages that came over plain http have no such thing.
  const devices = navigator.mediaDevices as MediaDevices | undefined;
  try {
    if (!devices) throw new DOMException("", "NotAllowedError");
    return await devices.getUserMedia({ audio: { channelCount: 1 } });
  } catch (error) {
    if (!(error instanceof DOMException)) throw error;
    throw fault(
      "io",
      MICROPHONE_FAULTS[error.name] ?? "the microphone gives no sound",
      "Allow the microphone for this page, or choose a file of sound instead.",
    );
  }
}

/** Records. `onLevel` hears ten times a second how loud it is and how many seconds have passed. */
export async function startRecording(
  onLevel: (level: number, seconds: number) => void,
): Promise<Recording> {
  const stream = await openMicrophone();
  const context = new AudioContext();
  const analyser = context.createAnalyser();
  context.createMediaStreamSource(stream).connect(analyser);
  const samples = new Float32Array(analyser.fftSize);
  const recorder = new MediaRecorder(stream);
  const chunks: Blob[] = [];
  recorder.ondataavailable = ({ data }) => chunks.push(data);
  const ended = new Promise<void>((resolve) => (recorder.onstop = () => resolve()));
  const begin = performance.now();
  const timer = setInterval(() => {
    analyser.getFloatTimeDomainData(samples);
    onLevel(levelOf(samples), (performance.now() - begin) / 1000);
  }, LOOK_MS);
  recorder.start();
  const end = (): void => {
    clearInterval(timer);
    if (recorder.state !== "inactive") recorder.stop();
    for (const track of stream.getTracks()) track.stop();
    void context.close();
  };
  return {
    drop: end,
    async stop() {
      end();
      await ended;
      return new Blob(chunks, { type: recorder.mimeType });
    },
  };
}
