/** The special tokens of the small Whisper programs of tests, in the order of tests/make/make_media.py. */
export const SPECIAL = [
  "endoftext",
  "startoftranscript",
  "en",
  "de",
  "translate",
  "transcribe",
  "nospeech",
  "notimestamps",
];
