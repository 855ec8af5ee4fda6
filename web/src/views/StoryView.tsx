// The story, as it is being written, token by token.
import type { JSX } from "preact";
import { setPrompt, stopStory, STORY_TOKENS, tellStory } from "../actions.js";
import { app } from "../state.js";
import { formatCount, formatMs } from "../ui/format.js";
import { Figure } from "../ui/parts.js";

export function StoryView(): JSX.Element {
  const { prompt, status, text, tokens, ms } = app.story.value;
  const isRunning = status === "running";
  const speed = ms > 0 ? Math.round(tokens.length / (ms / 1000)) : 0;
  return (
    <section class="story" aria-label="Story">
      <p class="story-text" data-status={status} aria-busy={isRunning} aria-live="off">
        {text}
        {isRunning ? <span class="caret" aria-hidden="true" /> : null}
      </p>
      <div class="story-side">
        <form
          class="story-form"
          onSubmit={(event) => {
            event.preventDefault();
            if (isRunning) stopStory();
            else void tellStory();
          }}
        >
          <label class="field">
            <span class="soft">Begin with</span>
            <input
              value={prompt}
              placeholder="nothing, or words of your own"
              onInput={(event) => setPrompt(event.currentTarget.value)}
            />
          </label>
          <button type="submit" class="primary">
            {isRunning ? "Stop" : status === "done" ? "Tell it again" : "Tell a story"}
          </button>
        </form>
        <dl class="figures">
          <Figure name="speed">{formatCount(speed)} tokens/s</Figure>
          <Figure name="tokens">
            {tokens.length} of {STORY_TOKENS}
          </Figure>
          <Figure name="time">{formatMs(ms)}</Figure>
        </dl>
        <p class="soft">
          Your words go through <span class="mono">prefill</span> in one call. Then each call of{" "}
          <span class="mono">decode</span> takes one token, a piece of a word, and gives the
          likelihood of every next one; the likeliest is written. What came before is kept in a
          cache that both methods share.
        </p>
      </div>
    </section>
  );
}
