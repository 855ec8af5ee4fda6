// The first screen: what this is in one sentence, where to drop a file, and samples that do it all.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { chooseFiles, isHere, showSample } from "../actions.js";
import { app, type SampleId } from "../state.js";
import { Key } from "../ui/parts.js";
import { later } from "./later.js";

interface Card {
  id: SampleId;
  name: string;
  words: string;
  facts: string;
  /** The label of the button. */
  go: string;
}

const CARDS: readonly Card[] = [
  {
    id: "story",
    name: "Story teller",
    words:
      "A language model becomes one program with two methods, and writes a story word by word.",
    facts: "two .pt2 files · 3.90 MB",
    go: "Tell a story",
  },
  {
    id: "face",
    name: "Face detector",
    words:
      "A network of 52 convolutions finds faces in a photo, a picture of yours, or the camera.",
    facts: "one .pt2 file · 2.59 MB",
    go: "Find a face",
  },
  {
    id: "mlp",
    name: "Three layers",
    words: "A network so small that you can read every line of every step on its way.",
    facts: "one .pt2 file · 22.3 KB",
    go: "Follow it",
  },
];

const Operators = later(async () => (await import("./OperatorsView.js")).OperatorsView);

/** The list of covered operators, fetched when somebody asks. */
function Covered(): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  return (
    <details class="covered" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Will my model's operators work?</summary>
      {isOpen ? <Operators /> : null}
    </details>
  );
}

function SampleCard(props: { card: Card }): JSX.Element {
  const { id, name, words, facts, go } = props.card;
  return (
    <li>
      <button type="button" class="card" onClick={() => showSample(id)}>
        <span class="card-name">{name}</span>
        <span>{words}</span>
        <span class="card-foot">
          <span class="mono soft">{facts}</span>
          <span class="card-go">
            {go} <span aria-hidden="true">→</span>
          </span>
        </span>
      </button>
    </li>
  );
}

export function Start(): JSX.Element {
  const cards = CARDS.filter(({ id }) => isHere(id));
  return (
    <div class="start">
      <h1>
        Turn a PyTorch model into a small program that runs on a phone, and watch it run right here.
      </h1>
      <p class="lead">
        Sconce reads a file of <span class="mono">torch.export</span>, lowers it step by step to the
        program file that ExecuTorch runs on devices, and runs that file. All of it happens in this
        page; nothing leaves your machine.
      </p>
      <button type="button" class="drop" onClick={chooseFiles}>
        <span class="drop-main">
          Drop <span class="mono">.pt2</span> or <span class="mono">.pte</span> files here, or
          choose them
        </span>
        <span class="soft">
          Several .pt2 files become methods of one program; a .bpte brings its own test cases;
          .etrecord and .etdp files show where time went; with tokenizer.json next to it, or in a
          folder with it, a language model talks
        </span>
      </button>
      <h2>No model at hand? Try {cards.length > 1 ? "one of these" : "this one"}</h2>
      <ul class="cards">
        {cards.map((card) => (
          <SampleCard key={card.id} card={card} />
        ))}
      </ul>
      {app.hasModels.value ? null : (
        <p class="soft lacking">
          The story teller and the face detector need models that the npm package leaves out: they
          are in the folder <span class="mono">models</span> of the Sconce repository, where{" "}
          <span class="mono">npm start</span> serves this page with them.
        </p>
      )}
      <Covered />
      <p class="soft hint-keys">
        Press <Key>?</Key> for the keys.
      </p>
    </div>
  );
}
