// The story, as it is being written, token by token.
import type { JSX } from "preact";
import { setPrompt, stopStory, STORY_TOKENS, tellStory } from "../actions.js";
import { app } from "../state.js";
import { formatCount, formatMs } from "../ui/format.js";
import { FieldError, Figure } from "../ui/parts.js";

/** The beginning of a story; `fault` is the element that says why it cannot be used. */
export function Beginning(props: { fault: string }): JSX.Element {
  const { prompt, fault } = app.story.value;
  return (
    <label class="field">
      <span class="soft">Begin with</span>
      <input
        value={prompt}
        placeholder="nothing, or words of your own"
        autocomplete="off"
        aria-invalid={fault !== ""}
        aria-describedby={fault ? props.fault : undefined}
        onInput={(event) => setPrompt(event.currentTarget.value)}
      />
    </label>
  );
}

function Form(): JSX.Element {
  const { fault, status } = app.story.value;
  const isRunning = status === "running";
  return (
    <form
      class={fault ? "story-form is-wrong" : "story-form"}
      onSubmit={(event) => {
        event.preventDefault();
        if (isRunning) stopStory();
        else void tellStory();
      }}
    >
      <Beginning fault="story-fault" />
      <button type="submit" class="primary" disabled={app.busy.value !== null}>
        {isRunning ? "Stop" : status === "done" ? "Tell it again" : "Tell a story"}
      </button>
      <FieldError id="story-fault" text={fault} />
    </form>
  );
}

/** How fast it was, and why it ended. */
function Figures(): JSX.Element {
  const { tokens, ms } = app.story.value;
  const speed = ms > 0 ? Math.round(tokens / (ms / 1000)) : 0;
  return (
    <dl class="figures">
      <Figure name="speed">{ms > 0 ? `${formatCount(speed)} tokens/s` : "–"}</Figure>
      <Figure name="tokens">
        {tokens} of {STORY_TOKENS}
      </Figure>
      <Figure name="time">{ms > 0 ? formatMs(ms) : "–"}</Figure>
    </dl>
  );
}

export function StoryView(): JSX.Element {
  const { status, text } = app.story.value;
  const isRunning = status === "running";
  return (
    <section class="story" aria-label="Story">
      <p class="story-text" data-status={status} aria-busy={isRunning} aria-live="off">
        {text || isRunning ? text : <span class="soft">The story will appear here.</span>}
        {isRunning ? <span class="caret" aria-hidden="true" /> : null}
      </p>
      <div class="story-side">
        <Form />
        <Figures />
        <p class="soft">
          A tiny language model, trained on children's stories, writes this here and now. It gives
          the likelihood of every next token, a piece of a word, and the likeliest is written. After{" "}
          {STORY_TOKENS} tokens its memory is full, and the story stops where it is.
        </p>
        <p class="soft">
          Your words go through the method <span class="mono">prefill</span> in one call, and each
          further token through <span class="mono">decode</span>. Both share one cache.
        </p>
      </div>
    </section>
  );
}
