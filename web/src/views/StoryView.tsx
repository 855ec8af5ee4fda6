// The story, as it is being written, token by token.
import type { JSX } from "preact";
import { stopStory, STORY_TOKENS, tellStory } from "../actions.js";
import { app } from "../state.js";
import { formatCount, formatMs } from "../ui/format.js";
import { Figure } from "../ui/parts.js";

export function StoryView(): JSX.Element {
  const { status, text, tokens, ms } = app.story.value;
  const isRunning = status === "running";
  const speed = ms > 0 ? Math.round(tokens.length / (ms / 1000)) : 0;
  return (
    <section class="story" aria-label="Story">
      <p class="story-text" data-status={status} aria-busy={isRunning} aria-live="off">
        {text}
        {isRunning ? <span class="caret" aria-hidden="true" /> : null}
      </p>
      <div class="story-side">
        {isRunning ? (
          <button type="button" class="primary" onClick={stopStory}>
            Stop
          </button>
        ) : (
          <button type="button" class="primary" onClick={() => void tellStory()}>
            {status === "done" ? "Tell it again" : "Tell a story"}
          </button>
        )}
        <dl class="figures">
          <Figure name="speed">{formatCount(speed)} tokens/s</Figure>
          <Figure name="tokens">
            {tokens.length} of {STORY_TOKENS}
          </Figure>
          <Figure name="time">{formatMs(ms)}</Figure>
        </dl>
        <p class="soft">
          Each call of <span class="mono">decode</span> takes one token, a piece of a word, and
          gives the likelihood of every next one; the likeliest is written. What came before is kept
          in a cache inside the program.
        </p>
      </div>
    </section>
  );
}
