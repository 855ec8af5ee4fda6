// The face detector's pictures: the bundled photo, one that is dropped, or the camera, frame by
// frame.
import { HEIGHT, toFaces, toInput, WIDTH } from "../../../examples/faces.mjs";
import { app, setStep, type Faces } from "../state.js";
import { forgetIfBroken, isCancelled } from "./engine.js";
import { fetchModel } from "./files.js";
import { loadedProgram } from "./handles.js";
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

/** A picture at the size that the network takes. */
function pixels(from: CanvasImageSource): Uint8ClampedArray {
  const context = canvas.getContext("2d", { willReadFrequently: true })!;
  context.imageSmoothingQuality = "high";
  context.drawImage(from, 0, 0, WIDTH, HEIGHT);
  return context.getImageData(0, 0, WIDTH, HEIGHT).data;
}

async function detect(from: CanvasImageSource): Promise<void> {
  const program = await loadedProgram();
  const input = toInput(pixels(from));
  const begin = performance.now();
  const [scores, boxes] = (await program.run("forward", [input])) as { data: Float32Array }[];
  const ms = performance.now() - begin;
  set({ found: toFaces(scores!.data, boxes!.data), ms, frames: app.faces.value.frames + 1 });
  setStep("run", { status: "done", ms });
}

function failed(error: unknown): void {
  stopCamera();
  set({ status: "idle" });
  if (isCancelled(error)) return;
  forgetIfBroken(error);
  report(error, "run");
}

/** Looks for faces in the picture that is shown. */
export async function findFaces(): Promise<void> {
  if (!picture) return;
  set({ status: "running" });
  try {
    await detect(picture);
    set({ status: "idle" });
  } catch (error) {
    failed(error);
  }
}

async function show(blob: Blob, source: Faces["source"]): Promise<void> {
  stopCamera();
  picture = await createImageBitmap(blob);
  if (app.faces.value.url) URL.revokeObjectURL(app.faces.value.url);
  const { width, height } = picture;
  set({ source, url: URL.createObjectURL(blob), width, height, found: [], ms: 0, frames: 0 });
}

export async function showSamplePhoto(): Promise<void> {
  await show(await fetchModel("face-photo.jpg"), "photo");
}

/** A picture of the user's own; only the face sample knows what to do with it. */
export async function showPicture(file: Blob): Promise<void> {
  if (app.document.value?.sample !== "face") {
    throw fault(
      "input",
      "a picture needs the face detector",
      "Open the sample 'Face detector' first, then drop the picture.",
    );
  }
  try {
    await show(file, "picture");
  } catch {
    throw fault("format", "this picture cannot be read", "Use a PNG, JPEG or WebP file.");
  }
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

export async function startCamera(): Promise<void> {
  try {
    const mine = (stream = await navigator.mediaDevices.getUserMedia({
      video: { width: 640, height: 480 },
    }));
    video.srcObject = mine;
    await video.play();
    set({
      source: "camera",
      status: "running",
      width: video.videoWidth,
      height: video.videoHeight,
      found: [],
      frames: 0,
    });
    while (stream === mine) {
      await detect(video);
      await new Promise(requestAnimationFrame);
    }
  } catch (error) {
    if (error instanceof DOMException) {
      failed(
        fault(
          "io",
          `the camera cannot be used: ${error.message}`,
          "Allow the camera for this page, or drop a picture instead.",
        ),
      );
    } else failed(error);
  }
}
