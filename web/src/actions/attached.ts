// Pictures and recordings that go with a message.
import { takesParts } from "../derived.js";
import { app, type Attachment } from "../state.js";
import { fault, sentenceOf } from "./problems.js";
import { decodeSound } from "./sound.js";
import { setTalk, showTalk } from "./talking.js";

const KINDS = {
  image: {
    types: "image/*",
    refusal: "This model sees no pictures: its program has no method vision_encoder.",
  },
  audio: {
    types: "audio/*",
    refusal: "This model hears no sound: its program has no method audio_encoder.",
  },
} as const;

const PICTURE_HINT = "Use a PNG, JPEG or WebP file.";

/** Why pictures cannot be made what the encoder takes; else empty. */
function pictureFault(): string {
  const { methods = [] } = app.program.value ?? {};
  const input = methods.find(({ name }) => name === "vision_encoder")?.inputs[0];
  const isGiven = methods.some(({ name }) => name === "image_mean");
  if (isGiven || input?.dtype === "uint8" || app.document.value?.tokenizer?.preprocessor) return "";
  return "The program does not tell how its pictures are normalized. Drop preprocessor_config.json from the model's folder.";
}

async function pictureOf(file: File): Promise<Attachment> {
  const image = await createImageBitmap(file).catch(() => {
    throw fault("format", `${file.name} cannot be read`, PICTURE_HINT);
  });
  const url = URL.createObjectURL(file);
  return { kind: "image", name: file.name, url, part: { type: "image", image } };
}

async function soundOf(file: File): Promise<Attachment> {
  const audio = (await decodeSound(file, file.name)).getChannelData(0);
  return { kind: "audio", name: file.name, url: "", part: { type: "audio", audio } };
}

/** Puts files next to the draft. Files that the model cannot take are refused at the field. */
export async function attach(files: readonly File[]): Promise<void> {
  showTalk();
  const { document } = app;
  const mine = document.value;
  for (const file of files) {
    const kind = file.type.startsWith("image/") ? "image" : "audio";
    const refusal = takesParts.value[kind] ? "" : KINDS[kind].refusal;
    const wrong = refusal || (kind === "image" ? pictureFault() : "");
    if (wrong) return setTalk({ fault: wrong });
    try {
      const attachment = await (kind === "image" ? pictureOf(file) : soundOf(file));
      if (document.value !== mine) return URL.revokeObjectURL(attachment.url);
      setTalk({ attached: [...app.talk.value.attached, attachment], fault: "" });
    } catch (error) {
      return setTalk({ fault: sentenceOf(error, file.name) });
    }
  }
}

export function detach(attachment: Attachment): void {
  const { attached } = app.talk.value;
  setTalk({ attached: attached.filter((one) => one !== attachment), fault: "" });
  if (!app.talk.value.turns.some((turn) => turn.attached.includes(attachment)))
    URL.revokeObjectURL(attachment.url);
}

/** The types of files that the model takes, as a file dialog has them. */
export const attachableTypes = (): string =>
  (["image", "audio"] as const)
    .filter((kind) => takesParts.value[kind])
    .map((kind) => KINDS[kind].types)
    .join(",");
