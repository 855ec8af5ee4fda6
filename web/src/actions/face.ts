// The face detector's pictures: the bundled photo, one that is dropped, or the camera, frame by
// frame.
import { HEIGHT, toFaces, toInput, WIDTH } from "../../../examples/faces.mjs";
import { app, setStep, type Faces } from "../state.js";
import { forgetIfBroken, isCancelled } from "./engine.js";
import { fetchAsset } from "./files.js";
import { loadedProgram } from "./handles.js";
import { pictures } from "./pictures.js";
import { fault, report } from "./problems.js";

let picture: ImageBitmap | undefined;
let stream: MediaStream | undefined;
/** The camera's picture; the view shows this element. */
export const video = document.createElement("video");
video.muted = true;
video.playsInline = true;

const canvas = document.createElement("canvas");
canvas.width = WIDTH;
canvas.height = HEIGHT;

function set(edit: Partial<Faces>): void {
  app.faces.value = { ...app.faces.value, ...edit };
}

/** Another model may have been opened while a picture was on its way. */
function isOpen(): boolean {
  return app.document.value?.sample === "face";
}

/** A picture at the size that the network takes. */
function pixels(from: CanvasImageSource): Uint8ClampedArray {
  const context = canvas.getContext("2d", { willReadFrequently: true })!;
  context.imageSmoothingQuality = "high";
  context.drawImage(from, 0, 0, WIDTH, HEIGHT);
  return context.getImageData(0, 0, WIDTH, HEIGHT).data;
}

/** A picture of the user's own as the network takes it. */
export async function inputOf(file: Blob, name: string): Promise<ReturnType<typeof toInput>> {
  const bitmap = await createImageBitmap(file).catch(() => {
    throw unreadable(name);
  });
  const input = toInput(pixels(bitmap));
  bitmap.close();
  return input;
}

/** The picture that is shown, as the network takes it; the bundled photo if there is no other. */
export async function shownInput(): Promise<ReturnType<typeof toInput>> {
  if (!picture) await showSamplePhoto();
  return toInput(pixels(picture!));
}

const unreadable = (name: string): Error =>
  fault("format", `${name} cannot be read`, "Use a PNG, JPEG or WebP file.");

async function detect(from: CanvasImageSource): Promise<void> {
  const program = await loadedProgram();
  const input = toInput(pixels(from));
  const begin = performance.now();
  const [scores, boxes] = (await program.run("forward", [input])) as { data: Float32Array }[];
  const ms = performance.now() - begin;
  if (!isOpen()) return;
  set({ found: toFaces(scores!.data, boxes!.data), ms });
  setStep("run", { status: "done", ms, note: "latest picture" });
}

function failed(error: unknown): void {
  stopCamera();
  set({ status: "idle" });
  if (isCancelled(error)) return;
  setStep("run", { status: "done" });
  forgetIfBroken(error);
  report(error, "run");
}

/** Looks for faces in the picture that is shown. */
export async function findFaces(): Promise<void> {
  if (!picture || !isOpen()) return;
  set({ status: "running" });
  setStep("run", { status: "running" });
  try {
    await detect(picture);
    set({ status: "idle" });
  } catch (error) {
    failed(error);
  }
}

/** The camera goes off and the picture goes, with the document that they belong to. */
pictures.forget = () => {
  stopCamera();
  picture = undefined;
  if (app.faces.value.url) URL.revokeObjectURL(app.faces.value.url);
};

async function show(blob: Blob, source: Faces["source"]): Promise<void> {
  stopCamera();
  picture = await createImageBitmap(blob);
  if (app.faces.value.url) URL.revokeObjectURL(app.faces.value.url);
  const { width, height } = picture;
  set({ source, url: URL.createObjectURL(blob), width, height, found: [], ms: 0 });
}

export async function showSamplePhoto(): Promise<void> {
  await show(await fetchAsset("models/face-photo.jpg"), "photo");
}

/** A picture of the user's own; only the face sample knows what to do with it. */
export async function showPicture(file: File): Promise<void> {
  if (!isOpen()) {
    throw fault(
      "input",
      `${file.name} was left out: a picture needs the face detector`,
      "Open the sample 'Face detector' first, then drop the picture.",
    );
  }
  try {
    await show(file, "picture");
  } catch {
    throw unreadable(file.name);
  }
  // Both programs look at the picture when they stand side by side.
  if (app.step.value === "quantized") return (await import("./compared.js")).compareAgain();
  app.step.value = "run";
  await findFaces();
}

export function stopCamera(): void {
  for (const track of stream?.getTracks() ?? []) track.stop();
  stream = undefined;
  video.srcObject = null;
  if (app.faces.value.source === "camera") {
    picture = undefined;
    set({ source: "photo", status: "idle", url: "", found: [] });
  }
}

/** Why the camera gives no picture, by the name of the browser's error. */
const CAMERA_FAULTS: Record<string, string> = {
  NotAllowedError: "the camera is not allowed for this page",
  NotFoundError: "this machine has no camera",
  NotReadableError: "another program uses the camera",
};

function cameraFault(error: unknown): unknown {
  if (!(error instanceof DOMException)) return error;
  return fault(
    "io",
    CAMERA_FAULTS[error.name] ?? "the camera gives no picture",
    "Allow the camera for this page, or choose a picture instead.",
  );
}

async function openCamera(): Promise<MediaStream> {
  // Pages that came over plain http have no such thing.
  const devices = navigator.mediaDevices as MediaDevices | undefined;
  if (!devices) throw new DOMException("", "NotAllowedError");
  return devices.getUserMedia({ video: { width: 640, height: 480 } });
}

export async function startCamera(): Promise<void> {
  try {
    const mine = (stream = await openCamera());
    video.srcObject = mine;
    await video.play();
    set({
      source: "camera",
      status: "running",
      width: video.videoWidth,
      height: video.videoHeight,
      found: [],
    });
    while (stream === mine) {
      await detect(video);
      await new Promise(requestAnimationFrame);
    }
  } catch (error) {
    failed(cameraFault(error));
  }
}
