// Segments of speech as text and as subtitles.
import type { Segment } from "./speech.js";

const two = (value: number): string => String(value).padStart(2, "0");

/** "01:02:03.450" */
function timeOf(seconds: number, point: string): string {
  const ms = Math.round(seconds * 1000);
  const [hours, minutes, whole] = [ms / 3_600_000, (ms / 60_000) % 60, (ms / 1000) % 60];
  const clock = [hours, minutes, whole].map((value) => two(Math.floor(value))).join(":");
  return `${clock}${point}${String(ms % 1000).padStart(3, "0")}`;
}

/** "1:02" or "1:00:02" */
export function clockOf(seconds: number): string {
  const whole = Math.floor(seconds);
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60];
  const rest = two(whole % 60);
  return hours > 0 ? `${hours}:${two(minutes)}:${rest}` : `${minutes}:${rest}`;
}

/** "0:01.5" */
export const tenthsOf = (seconds: number): string =>
  `${clockOf(Math.floor(seconds * 10 + 1e-6) / 10)}.${Math.floor(seconds * 10 + 1e-6) % 10}`;

/** A segment in a line each. */
export const toText = (segments: readonly Segment[]): string =>
  segments.map(({ text }) => `${text}\n`).join("");

/** Blank lines and arrows would end a cue. */
const cueText = (text: string): string => text.replace(/\s*\n\s*/g, "\n").replaceAll("-->", "->");

/** Subtitles of SubRip. */
export const toSrt = (segments: readonly Segment[]): string =>
  segments
    .map(
      ({ start, end, text }, i) =>
        `${i + 1}\n${timeOf(start, ",")} --> ${timeOf(end, ",")}\n${cueText(text)}\n`,
    )
    .join("\n");

const escapeVtt = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");

/** Subtitles of WebVTT. */
export const toVtt = (segments: readonly Segment[]): string =>
  ["WEBVTT\n"]
    .concat(
      segments.map(
        ({ start, end, text }) =>
          `${timeOf(start, ".")} --> ${timeOf(end, ".")}\n${escapeVtt(cueText(text))}\n`,
      ),
    )
    .join("\n");
