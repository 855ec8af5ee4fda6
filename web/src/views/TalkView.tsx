// Talking with a language model: messages and answers, or a text and how the model goes on with it.
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { newTalk, setDraft, setTalkSetting } from "../actions.js";
import { attach, attachableTypes, detach } from "../actions/attached.js";
import { chooseTypes } from "../actions/drops.js";
import { openTalk, say } from "../actions/talk.js";
import { stopAnswer } from "../actions/talking.js";
import { takesParts } from "../derived.js";
import { app, type Attachment, type Talk, type Turn } from "../state.js";
import { SETTING_NAMES, SETTINGS, settingFault } from "../talk.js";
import { formatCount, formatMs, plural } from "../ui/format.js";
import { FieldError, Figure } from "../ui/parts.js";
import { NotOpened, Waiting } from "./Waiting.js";

const isAnswering = ({ status }: Talk): boolean => status === "reading" || status === "writing";

// --- Pictures and recordings ------------------------------------------------------------------------

function Attached(props: { list: readonly Attachment[]; canRemove?: boolean }): JSX.Element | null {
  const { list, canRemove } = props;
  if (list.length === 0) return null;
  return (
    <ul class="attached" aria-label="Attached">
      {list.map((one) => (
        <li key={one.url || one.name}>
          {one.kind === "image" ? (
            <img src={one.url} alt={one.name} title={one.name} />
          ) : (
            <span class="attached-sound">
              <span aria-hidden="true">♪</span> {one.name}
            </span>
          )}
          {canRemove ? (
            <button
              type="button"
              class="remove"
              aria-label={`Remove ${one.name}`}
              title={`Remove ${one.name}`}
              onClick={() => detach(one)}
            >
              <span aria-hidden="true">×</span>
            </button>
          ) : null}
        </li>
      ))}
    </ul>
  );
}

// --- The text so far --------------------------------------------------------------------------------

function Caret(): JSX.Element {
  return <span class="caret" aria-hidden="true" />;
}

function Message(props: { turn: Turn; isOpen: boolean }): JSX.Element {
  const { turn, isOpen } = props;
  return (
    <li class="turn">
      <div class="said">
        <h2>You</h2>
        <Attached list={turn.attached} />
        {turn.given === "" ? null : <p>{turn.given}</p>}
      </div>
      <div class="answer">
        <h2>Model</h2>
        <p aria-busy={isOpen}>
          {turn.text.trimStart()}
          {isOpen ? <Caret /> : null}
        </p>
        {turn.ending ? <p class="soft ending">{turn.ending}</p> : null}
      </div>
    </li>
  );
}

function Messages(): JSX.Element {
  const { turns } = app.talk.value;
  const isOpen = isAnswering(app.talk.value);
  if (turns.length === 0)
    return <p class="soft talk-empty">Write a message below. It stays on this machine.</p>;
  return (
    <ol class="turns">
      {turns.map((turn, i) => (
        <Message key={i} turn={turn} isOpen={isOpen && i === turns.length - 1} />
      ))}
    </ol>
  );
}

/** A text, with the words that were given marked. */
function Text(): JSX.Element {
  const [turn] = app.talk.value.turns;
  const isOpen = isAnswering(app.talk.value);
  if (!turn && !isOpen) return <p class="story-text soft">The text will appear here.</p>;
  const { given = "", text = "", ending = "", attached = [] } = turn ?? {};
  return (
    <>
      <Attached list={attached} />
      <p class="story-text" aria-busy={isOpen}>
        <span class="given">{given}</span>
        {text.slice(given.length)}
        {isOpen ? <Caret /> : null}
      </p>
      {ending ? <p class="soft ending">{ending}</p> : null}
    </>
  );
}

/** Tells screen readers that an answer is being written, and then the whole of it. */
function Announcer(): JSX.Element {
  const { turns, takesMessages } = app.talk.value;
  const last = turns.at(-1);
  const whole = last ? `${takesMessages ? "Model: " : ""}${last.text} ${last.ending}` : "";
  return (
    <p class="unseen" role="status">
      {isAnswering(app.talk.value) ? "Writing" : whole}
    </p>
  );
}

/** Distance from the end, in pixels, at which new text still keeps the end in sight. */
const NEAR = 64;

/** True on a phone, where the page scrolls as a whole. */
const isPageScrolled = (log: HTMLElement): boolean => getComputedStyle(log).overflowY === "visible";

/** The height of the text below what is in sight. */
function hiddenBelow(log: HTMLElement): number {
  if (!isPageScrolled(log)) return log.scrollHeight - log.clientHeight - log.scrollTop;
  const field = log.parentElement!.querySelector(".composer")!;
  return log.getBoundingClientRect().bottom - field.getBoundingClientRect().top;
}

/** Keeps the end in sight, unless the reader has gone back. */
function useEnd(): { current: HTMLDivElement | null } {
  const log = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  const { turns } = app.talk.value;
  const count = useRef(turns.length);
  useEffect(() => {
    const look = (): void => {
      isAtEnd.current = hiddenBelow(log.current!) <= NEAR;
    };
    const options = { capture: true, passive: true };
    addEventListener("scroll", look, options);
    return () => removeEventListener("scroll", look, options);
  }, []);
  useLayoutEffect(() => {
    const isNew = turns.length > count.current;
    count.current = turns.length;
    const hidden = isAtEnd.current || isNew ? hiddenBelow(log.current!) : 0;
    if (hidden > 0) (isPageScrolled(log.current!) ? window : log.current!).scrollBy(0, hidden);
  }, [turns]);
  return log;
}

// --- The field --------------------------------------------------------------------------------------

/** The work before the first word. */
function Progress(): JSX.Element | null {
  const { status, progress } = app.talk.value;
  const [what, amount] =
    status === "opening"
      ? ["Reading the tokenizer", null]
      : status === "reading"
        ? ["Reading the prompt", progress]
        : ["", null];
  if (what === "") return null;
  return (
    <div class="talk-progress">
      <p class="soft">
        {what}
        {amount?.phase ? `: ${amount.phase}` : ""}
      </p>
      {amount && amount.total > 0 ? (
        <progress max={amount.total} value={amount.done} aria-label={what} />
      ) : (
        <progress aria-label={what} />
      )}
    </div>
  );
}

function buttonText(talk: Talk): string {
  if (isAnswering(talk)) return "Stop";
  if (talk.takesMessages) return "Send";
  return talk.turns.length > 0 ? "Write again" : "Write";
}

function Composer(): JSX.Element {
  const { value: talk } = app.talk;
  const field = useRef<HTMLTextAreaElement>(null);
  const isBusy = isAnswering(talk);
  const takes = takesParts.value;
  const onPaste = (event: ClipboardEvent): void => {
    const files = [...(event.clipboardData?.files ?? [])];
    if (files.length === 0) return;
    event.preventDefault();
    void attach(files);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      if (!isBusy) void say();
    }
    if (event.key === "Escape" && isBusy) {
      // The field keeps the focus; Esc in a field leaves it otherwise.
      event.stopPropagation();
      stopAnswer();
    }
  };
  return (
    <form
      class={talk.fault ? "composer is-wrong" : "composer"}
      onSubmit={(event) => {
        event.preventDefault();
        if (isBusy) stopAnswer();
        else void say();
        field.current!.focus({ preventScroll: true });
      }}
    >
      <Progress />
      <Attached list={talk.attached} canRemove />
      <label class="field">
        <span class="soft">{talk.takesMessages ? "Message" : "Go on from"}</span>
        <textarea
          ref={field}
          rows={2}
          value={talk.draft}
          placeholder={talk.takesMessages ? "" : "nothing, or words of your own"}
          autocomplete="off"
          enterkeyhint="send"
          aria-invalid={talk.fault !== ""}
          aria-describedby={talk.fault ? "talk-fault" : undefined}
          onInput={(event) => setDraft(event.currentTarget.value)}
          onKeyDown={onKeyDown}
          onPaste={onPaste}
        />
      </label>
      {takes.image || takes.audio ? (
        <button type="button" class="attach" onClick={() => chooseTypes(attachableTypes())}>
          Attach {takes.image ? "a picture" : "a sound"}
          {takes.image && takes.audio ? " or sound" : ""}
        </button>
      ) : null}
      <button
        type="submit"
        class="primary"
        disabled={app.busy.value !== null || (talk.status === "opening" && !isBusy)}
      >
        {buttonText(talk)}
      </button>
      <FieldError id="talk-fault" text={talk.fault} />
    </form>
  );
}

// --- Beside it --------------------------------------------------------------------------------------

const speed = (tokens: number, ms: number): string =>
  ms > 0 && tokens > 0
    ? `${formatCount(Number(((1000 * tokens) / ms).toPrecision(3)))} tokens/s`
    : "–";

function Figures(): JSX.Element {
  const { figures, used, contextLength } = app.talk.value;
  const { readTokens = 0, readMs = 0, tokens = 0, ms = 0 } = figures ?? {};
  return (
    <dl class="figures">
      <Figure name="speed" title="Tokens of the answer after the first">
        {speed(tokens - 1, ms)}
      </Figure>
      <Figure
        name="first token"
        title={readTokens > 0 ? `${plural(readTokens, "token")} read` : ""}
      >
        {readMs > 0 ? formatMs(readMs) : "–"}
      </Figure>
      <Figure name="tokens">{tokens > 0 ? formatCount(tokens) : "–"}</Figure>
      <Figure name="context">
        {contextLength > 0 ? `${formatCount(used)} of ${formatCount(contextLength)}` : "–"}
      </Figure>
    </dl>
  );
}

function NumberField(props: { name: (typeof SETTING_NAMES)[number] }): JSX.Element {
  const { name } = props;
  const { settings } = app.talk.value;
  const { label, empty } = SETTINGS[name];
  const fault = settingFault(settings, name);
  const id = `talk-${name}-fault`;
  return (
    <div class={fault ? "talk-setting is-wrong" : "talk-setting"}>
      <label class="field">
        <span class="soft">{label}</span>
        <input
          class="num"
          inputMode="decimal"
          autocomplete="off"
          value={settings[name]}
          placeholder={empty}
          aria-invalid={fault !== ""}
          aria-describedby={fault ? id : undefined}
          onInput={(event) => setTalkSetting(name, event.currentTarget.value)}
        />
      </label>
      <FieldError id={id} text={fault} />
    </div>
  );
}

function Settings(): JSX.Element {
  const { settings, takesMessages } = app.talk.value;
  return (
    <details class="talk-settings" open>
      <summary>Settings</summary>
      <div class="talk-fields">
        {takesMessages ? (
          <label class="field talk-system">
            <span class="soft">System prompt</span>
            <textarea
              rows={2}
              autocomplete="off"
              value={settings.system}
              placeholder="as the chat template has it"
              onInput={(event) => setTalkSetting("system", event.currentTarget.value)}
            />
          </label>
        ) : null}
        {SETTING_NAMES.map((name) => (
          <NumberField key={name} name={name} />
        ))}
      </div>
      <p class="soft">
        At temperature 0 the most likely token is taken, and top-k, top-p, min-p and seed have no
        effect.
      </p>
    </details>
  );
}

function Words(): JSX.Element | null {
  const { sample } = app.document.value ?? {};
  const { warnings, takesMessages, status } = app.talk.value;
  const isBare = !takesMessages && status !== "opening" && status !== "idle" && !sample;
  return (
    <>
      {warnings.map((warning) => (
        <p key={warning} class="soft" role="note">
          Note: {warning}.
        </p>
      ))}
      {isBare ? (
        <p class="soft">
          There is no chat template, so the model goes on with a text. Drop{" "}
          <span class="mono">tokenizer_config.json</span> or{" "}
          <span class="mono">chat_template.jinja</span> to talk with it.
        </p>
      ) : null}
      {sample === "story" ? (
        <p class="soft">
          A tiny language model, trained on children's stories, writes this here and now. Your words
          go through the method <span class="mono">prefill</span> in one call, and each further
          token through <span class="mono">decode</span>. Both share one cache, and when it is full
          the story stops where it is.
        </p>
      ) : null}
    </>
  );
}

function Conversation(): JSX.Element {
  const { value: talk } = app.talk;
  const log = useEnd();
  return (
    <section class="talk" data-status={talk.status} aria-label="Conversation">
      <div class="talk-main">
        <div class="talk-log" ref={log} tabIndex={0} role="region" aria-label="Transcript">
          {talk.takesMessages ? <Messages /> : <Text />}
        </div>
        <Announcer />
        <Composer />
      </div>
      <div class="talk-side">
        <Figures />
        {talk.takesMessages ? (
          <button type="button" disabled={talk.turns.length === 0} onClick={newTalk}>
            New conversation
          </button>
        ) : null}
        <Settings />
        <Words />
      </div>
    </section>
  );
}

export function TalkView(): JSX.Element {
  const { status } = app.talk.value;
  const isLoaded = app.program.value !== null && app.busy.value === null;
  useEffect(() => {
    if (isLoaded && status === "idle") void openTalk();
  }, [isLoaded, status]);
  if (app.program.value === null) return <Waiting />;
  return status === "failed" ? (
    <NotOpened fault="The tokenizer could not be used" />
  ) : (
    <Conversation />
  );
}
