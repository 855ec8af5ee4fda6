// Pictures and sound that are dropped or chosen: the speech model hears, a language model takes them
// with a message, and the face detector looks.
import { looksLikeSpeech } from "../derived.js";
import { app } from "../state.js";
import { attach } from "./attached.js";
import { showPicture } from "./face.js";
import { fault, warn } from "./problems.js";
import { takeSound } from "./speech.js";

const leave = (files: readonly File[], why: string, hint: string): void =>
  warn(files.map(({ name }) => fault("input", `${name} was left out: ${why}`, hint)));

/** Takes pictures and sound for the model that is open. */
export async function takeMedia(images: readonly File[], sounds: readonly File[]): Promise<void> {
  const isFace = app.document.value?.sample === "face";
  const hasTokenizer = app.document.value?.tokenizer !== undefined && app.program.value !== null;
  if (hasTokenizer && looksLikeSpeech.value) {
    leave(images, "a speech model hears sound only", "Drop a file of sound.");
    leave(sounds.slice(1), "the page hears one sound at a time", "Drop it on its own.");
    if (sounds[0]) await takeSound(sounds[0], sounds[0].name);
  } else if (hasTokenizer && !isFace) await attach([...images, ...sounds]);
  else {
    leave(
      sounds,
      "sound needs a model that hears",
      "Drop a Whisper program together with its tokenizer.json, and then the sound.",
    );
    leave(images.slice(1), "the page shows one picture at a time", "Choose it on its own.");
    if (images[0]) await showPicture(images[0]);
  }
}
