// The samples in both programs: boxes on the same picture, stories from the same beginning.
import type { JSX } from "preact";
import { compareAgain } from "../actions/compared.js";
import { report, setDraft } from "../actions.js";
import { showPicture } from "../actions/face.js";
import { alike } from "../quantized.js";
import { app, type Compared, type Sighting, type Telling } from "../state.js";
import { formatCount } from "../ui/format.js";
import { Boxes, faceWords } from "./FaceView.js";

type Sightings = NonNullable<Compared["sightings"]>;
type Stories = NonNullable<Compared["stories"]>;

const certainty = ({ found }: Sighting): string =>
  found[0] ? `, ${(Math.floor(1000 * found[0].score) / 10).toFixed(1)} % sure` : "";

function Seen(props: { name: string; of: Sighting; on: Sightings }): JSX.Element {
  const { name, of, on } = props;
  const { url, width, height } = on;
  return (
    <figure class="seen">
      <figcaption>
        {name}{" "}
        <span class="soft">
          {faceWords(of.found.length)}
          {certainty(of)}
        </span>
      </figcaption>
      <div class="picture" style={{ aspectRatio: `${width} / ${height}` }}>
        <img src={url} alt={`${name}: ${faceWords(of.found.length)} found`} />
        <Boxes found={of.found} width={width} height={height} />
      </div>
    </figure>
  );
}

/** Pictures with the boxes of each. */
export function BothFaces(props: { sightings: Sightings }): JSX.Element {
  const { sightings } = props;
  const choose = (file: File | undefined): void => {
    if (file) showPicture(file).catch((error: unknown) => report(error, "run"));
  };
  return (
    <section class="compared-faces">
      <h2>Faces found by both</h2>
      <div class="side-by-side">
        <Seen name="Float" of={sightings.float} on={sightings} />
        <Seen name="Quantized" of={sightings.quantized} on={sightings} />
      </div>
      <div class="buttons">
        <label class="file">
          <input
            type="file"
            accept="image/*"
            onChange={(event) => choose(event.currentTarget.files?.[0])}
          />
          <span>Choose a picture</span>
        </label>
      </div>
    </section>
  );
}

function Story(props: { name: string; of: Telling; same: string }): JSX.Element {
  const { name, of, same } = props;
  const speed =
    of.ms > 0 ? `${formatCount(Math.round(of.tokens.length / (of.ms / 1000)))} tokens/s` : "";
  return (
    <figure class="telling">
      <figcaption>
        {name} <span class="soft">{speed}</span>
      </figcaption>
      <p class="story-text">
        {same}
        <mark>{of.text.slice(same.length)}</mark>
      </p>
    </figure>
  );
}

/** The text that both begin with. */
function commonText(a: string, b: string): string {
  let at = 0;
  while (at < a.length && a[at] === b[at]) at++;
  return a.slice(0, at);
}

/** Stories of each, and where they part. */
export function BothStories(props: { stories: Stories }): JSX.Element {
  const { float, quantized } = props.stories;
  const same = commonText(float.text, quantized.text);
  const tokens = alike(float.tokens, quantized.tokens);
  const isSame = tokens === float.tokens.length && tokens === quantized.tokens.length;
  return (
    <section class="compared-stories">
      <h2>Stories by both</h2>
      <p class="soft" role="status">
        {isSame
          ? `The same story, all ${tokens} tokens of it.`
          : `The same for ${tokens} of ${float.tokens.length} tokens; then each goes on in its own way, marked here.`}
      </p>
      <div class="side-by-side">
        <Story name="Float" of={float} same={same} />
        <Story name="Quantized" of={quantized} same={same} />
      </div>
      <form
        class="story-form"
        onSubmit={(event) => {
          event.preventDefault();
          void compareAgain();
        }}
      >
        <label class="field">
          <span class="soft">Go on from</span>
          <input
            value={app.talk.value.draft}
            placeholder="nothing, or words of your own"
            autocomplete="off"
            onInput={(event) => setDraft(event.currentTarget.value)}
          />
        </label>
        <button type="submit" disabled={app.busy.value !== null}>
          Tell it again
        </button>
      </form>
    </section>
  );
}
