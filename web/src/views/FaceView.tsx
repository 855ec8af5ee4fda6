// A picture with boxes where the detector sees faces: the bundled photo, a dropped one, the camera.
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { report } from "../actions.js";
import {
  findFaces,
  showPicture,
  showSamplePhoto,
  startCamera,
  stopCamera,
  video,
} from "../actions/face.js";
import { app, type Faces } from "../state.js";
import { formatMs } from "../ui/format.js";
import { Figure } from "../ui/parts.js";

/** The camera's element is made once; this puts it in its place. */
function Camera(): JSX.Element {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    place.current!.replaceChildren(video);
  }, []);
  return <div class="camera" ref={place} />;
}

export function Boxes(props: Pick<Faces, "found" | "width" | "height">): JSX.Element {
  const { found, width, height } = props;
  return (
    <svg viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" aria-hidden="true">
      {found.map(({ box: [x0, y0, x1, y1] }, i) => (
        <rect
          key={i}
          x={x0 * width}
          y={y0 * height}
          width={(x1 - x0) * width}
          height={(y1 - y0) * height}
        />
      ))}
    </svg>
  );
}

export function faceWords(count: number): string {
  return count === 0 ? "no face" : count === 1 ? "1 face" : `${count} faces`;
}

async function photo(): Promise<void> {
  try {
    await showSamplePhoto();
    await findFaces();
  } catch (error) {
    report(error, "run");
  }
}

export function FaceView(): JSX.Element {
  const faces = app.faces.value;
  const isCamera = faces.source === "camera";
  return (
    <section class="face" aria-label="Face detector">
      <div
        class={isCamera ? "picture is-mirrored" : "picture"}
        style={{ aspectRatio: `${faces.width} / ${faces.height}` }}
      >
        {isCamera ? (
          <Camera />
        ) : faces.url ? (
          <img src={faces.url} alt={`Picture with ${faceWords(faces.found.length)} found`} />
        ) : null}
        <Boxes {...faces} />
      </div>
      <div class="face-side">
        <dl class="figures">
          <Figure name="found">
            <span role="status">{faceWords(faces.found.length)}</span>
          </Figure>
          {faces.found[0] ? (
            <Figure name="certainty">
              {(Math.floor(1000 * faces.found[0].score) / 10).toFixed(1)} %
            </Figure>
          ) : null}
          <Figure name="time per picture">{faces.ms > 0 ? formatMs(faces.ms) : ""}</Figure>
        </dl>
        <div class="buttons">
          <label class="file">
            <input
              type="file"
              accept="image/*"
              onChange={(event) => {
                const file = event.currentTarget.files?.[0];
                if (file) showPicture(file).catch((error: unknown) => report(error, "run"));
              }}
            />
            <span>Choose a picture</span>
          </label>
          {isCamera ? (
            <button
              type="button"
              onClick={() => {
                stopCamera();
                void photo();
              }}
            >
              Stop the camera
            </button>
          ) : (
            <button type="button" onClick={() => void startCamera()}>
              Use the camera
            </button>
          )}
          {faces.source === "picture" ? (
            <button type="button" onClick={() => void photo()}>
              Bundled photo
            </button>
          ) : null}
        </div>
        <p class="soft">
          The picture is scaled to 320 × 240, goes through 52 convolutions, and comes back as 4,420
          candidate boxes with a score each; boxes above 0.7 that do not overlap are drawn. Drop a
          picture of yours anywhere on the page: it never leaves your machine.
        </p>
        {faces.source === "photo" ? (
          <p class="soft">Photo: astronaut Eileen Collins, NASA, public domain.</p>
        ) : null}
      </div>
    </section>
  );
}
