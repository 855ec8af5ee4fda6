// Speech to text: sound from a file or from the microphone, the segments of what was said, and the way
// out as text or subtitles.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { chooseTypes } from "../actions/drops.js";
import {
  FORMATS,
  listen,
  openSpeech,
  play,
  record,
  saveText,
  setSpeechSetting,
  stopListening,
  stopRecording,
  written,
  type Format,
} from "../actions/speech.js";
import type { Segment, Speech } from "../speech.js";
import { app } from "../state.js";
import { formatMs, plural } from "../ui/format.js";
import { CopyButton, FieldError, Figure } from "../ui/parts.js";
import { clockOf, tenthsOf } from "../subtitles.js";
import { NotOpened, Waiting } from "./Waiting.js";

const isWorking = ({ status }: Speech): boolean => status === "decoding" || status === "listening";

// --- The segments ------------------------------------------------------------------------------------

function Line(props: { segment: Segment; index: number; isPlaying: boolean }): JSX.Element {
  const { segment, index, isPlaying } = props;
  return (
    <li>
      <button
        type="button"
        class="segment-line"
        aria-pressed={isPlaying}
        title={isPlaying ? "Stop playing" : "Play this part"}
        onClick={() => play(index)}
      >
        <span class="num soft">{tenthsOf(segment.start)}</span>
        <span>{segment.text}</span>
      </button>
    </li>
  );
}

function Segments(): JSX.Element {
  const { segments, playing, sound, status, ending } = app.speech.value;
  if (segments.length === 0 && !ending)
    return (
      <p class="soft talk-empty">
        {status === "listening" || sound
          ? "The text will appear here."
          : "Drop a file of sound here, choose one, or record. It stays on this machine."}
      </p>
    );
  return (
    <>
      <ol class="segments">
        {segments.map((segment, i) => (
          <Line key={i} segment={segment} index={i} isPlaying={playing === i} />
        ))}
      </ol>
      {ending ? <p class="soft ending">{ending}</p> : null}
    </>
  );
}

function Export(): JSX.Element {
  const [format, setFormat] = useState<Format>("txt");
  return (
    <div class="speech-export">
      <label class="inline">
        <span class="soft">as</span>
        <select value={format} onChange={(event) => setFormat(event.currentTarget.value as Format)}>
          {Object.entries(FORMATS).map(([name, { title }]) => (
            <option key={name} value={name}>
              {title}
            </option>
          ))}
        </select>
      </label>
      <CopyButton text={written(format)} label="Copy" />
      <button type="button" class="quiet" onClick={() => saveText(format)}>
        Save
      </button>
    </div>
  );
}

// --- The sound ----------------------------------------------------------------------------------------

const WORDS: Partial<Record<Speech["status"], string>> = {
  opening: "Reading the tokenizer",
  decoding: "Decoding the sound",
};

function Progress(): JSX.Element | null {
  const { status, progress, heard, sound } = app.speech.value;
  const what = status === "listening" ? "Listening" : WORDS[status];
  if (!what) return null;
  const [begin, end] = heard;
  const where =
    status === "listening" && sound
      ? ` to ${clockOf(begin)}–${clockOf(Math.round(end))} of ${clockOf(Math.round(sound.seconds))}`
      : "";
  return (
    <div class="talk-progress">
      <p class="soft">
        {what}
        {where}
        {progress?.phase ? `: ${progress.phase}` : ""}
      </p>
      {progress && progress.total > 0 ? (
        <progress max={progress.total} value={progress.done} aria-label={what} />
      ) : (
        <progress aria-label={what} />
      )}
    </div>
  );
}

function Recorder(): JSX.Element {
  const { level, recorded } = app.speech.value;
  return (
    <div class="talk-progress recorder">
      <p class="soft num">
        Recording {clockOf(recorded)} <span class="unseen">minutes and seconds</span>
      </p>
      <meter max={1} value={level} aria-label="Loudness" />
    </div>
  );
}

function MainButton(): JSX.Element {
  const { value: speech } = app.speech;
  const isBusy = app.busy.value !== null;
  if (speech.status === "recording")
    return (
      <button type="button" class="primary" onClick={() => void stopRecording()}>
        Stop
      </button>
    );
  if (isWorking(speech))
    return (
      <button type="button" class="primary" onClick={stopListening}>
        Stop
      </button>
    );
  return (
    <button
      type="button"
      class="primary"
      disabled={isBusy || !speech.sound}
      onClick={() => void listen()}
    >
      {speech.segments.length > 0 ? "Listen again" : "Listen"}
    </button>
  );
}

function Controls(): JSX.Element {
  const { value: speech } = app.speech;
  const isFree = !isWorking(speech) && speech.status !== "recording" && app.busy.value === null;
  return (
    <div class="composer speech-controls">
      <Progress />
      {speech.status === "recording" ? <Recorder /> : null}
      <div class="buttons">
        <button type="button" disabled={!isFree} onClick={() => chooseTypes("audio/*,video/*")}>
          Choose a sound
        </button>
        <button type="button" disabled={!isFree} onClick={() => void record()}>
          Record speech
        </button>
      </div>
      <MainButton />
      <FieldError text={speech.fault} />
    </div>
  );
}

// --- Beside it ----------------------------------------------------------------------------------------

const names = new Intl.DisplayNames("en", { type: "language", fallback: "code" });
/** Codes of Whisper that are older than those of the platform. */
const OLD: Readonly<Record<string, string>> = { jw: "jv" };
const languageName = (code: string): string => names.of(OLD[code] ?? code) ?? code;

const lengthOf = (seconds: number): string =>
  seconds < 60 ? formatMs(1000 * seconds) : `${clockOf(seconds)} min`;

function Figures(): JSX.Element {
  const { sound, language, ms, segments } = app.speech.value;
  const speed = sound && ms > 0 ? (sound.seconds * 1000) / ms : 0;
  return (
    <dl class="figures">
      <Figure name="sound">{sound ? lengthOf(sound.seconds) : "–"}</Figure>
      <Figure name="heard in" title={speed > 0 ? `${speed.toPrecision(3)} times as fast` : ""}>
        {ms > 0 ? formatMs(ms) : "–"}
      </Figure>
      <Figure name="language">{language ? languageName(language) : "–"}</Figure>
      <Figure name="segments">{segments.length > 0 ? segments.length : "–"}</Figure>
    </dl>
  );
}

function Languages(): JSX.Element | null {
  const { languages, settings } = app.speech.value;
  if (languages.length === 0) return null;
  const sorted = languages
    .map((code) => [code, languageName(code)] as const)
    .sort(([, a], [, b]) => a.localeCompare(b, "en"));
  return (
    <>
      <label class="field">
        <span class="soft">Language</span>
        <select
          value={settings.language}
          onChange={(event) => setSpeechSetting({ language: event.currentTarget.value })}
        >
          <option value="">recognise it</option>
          {sorted.map(([code, name]) => (
            <option key={code} value={code}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <label class="field">
        <span class="soft">Task</span>
        <select
          value={settings.task}
          onChange={(event) =>
            setSpeechSetting({ task: event.currentTarget.value as "transcribe" | "translate" })
          }
        >
          <option value="transcribe">write what is said</option>
          <option value="translate">translate into English</option>
        </select>
      </label>
    </>
  );
}

function Settings(): JSX.Element {
  const { timestamps } = app.speech.value.settings;
  return (
    <details class="talk-settings" open>
      <summary>Settings</summary>
      <div class="speech-fields">
        <Languages />
        <label class="check">
          <input
            type="checkbox"
            checked={timestamps}
            onChange={(event) => setSpeechSetting({ timestamps: event.currentTarget.checked })}
          />
          <span>Times of segments</span>
        </label>
      </div>
    </details>
  );
}

/** Tells screen readers about the work under way, and then its result. */
function Announcer(): JSX.Element {
  const { status, segments, ending, playing } = app.speech.value;
  const words =
    status === "listening"
      ? "Listening"
      : status === "recording"
        ? "Recording"
        : ending ||
          (segments.length > 0 && playing === null ? plural(segments.length, "segment") : "");
  return (
    <p class="unseen" role="status">
      {words}
    </p>
  );
}

function Hearing(): JSX.Element {
  const { value: speech } = app.speech;
  return (
    <section class="talk speech" data-status={speech.status} aria-label="Speech to text">
      <div class="talk-main">
        {speech.sound ? (
          <div class="speech-head">
            <p class="mono">{speech.sound.name}</p>
            {speech.segments.length > 0 ? <Export /> : null}
          </div>
        ) : null}
        <div class="talk-log" tabIndex={0} role="log" aria-label="Transcript">
          <Segments />
        </div>
        <Announcer />
        <Controls />
      </div>
      <div class="talk-side">
        <Figures />
        <Settings />
        <p class="soft">
          The model hears 30 seconds at a time. Each part of the text plays its sound.
        </p>
      </div>
    </section>
  );
}

export function SpeechView(): JSX.Element {
  const { status } = app.speech.value;
  const isLoaded = app.program.value !== null && app.busy.value === null;
  useEffect(() => {
    if (isLoaded && status === "idle") void openSpeech();
  }, [isLoaded, status]);
  if (app.program.value === null) return <Waiting />;
  return status === "failed" ? <NotOpened fault="The model could not be opened" /> : <Hearing />;
}
