// The selected step: what it is, the ways to look at it, and the one that was picked.
import type { JSX } from "preact";
import { showView } from "../actions.js";
import { version, view, viewsOfStep } from "../derived.js";
import { VIEWS, type View } from "../looks.js";
import { app } from "../state.js";
import { DelegatesView } from "./DelegatesView.js";
import { later } from "./later.js";
import { MemoryView } from "./MemoryView.js";
import { ProgramView } from "./ProgramView.js";
import { RunView } from "./RunView.js";
import { SummaryView } from "./SummaryView.js";
import { TableView } from "./TableView.js";
import { TextView } from "./TextView.js";
import { Waiting } from "./Waiting.js";
import { STEP_NAMES, stepWords } from "../words.js";

function ViewTabs(): JSX.Element | null {
  const views = viewsOfStep.value;
  if (views.length === 0) return null;
  return (
    <div class="views" role="group" aria-label="View">
      {views.map((name) => (
        <button
          key={name}
          type="button"
          class="segment"
          aria-pressed={view.value === name}
          title={`${VIEWS[name].title} (${VIEWS[name].key})`}
          onClick={() => showView(name)}
        >
          {VIEWS[name].title}
        </button>
      ))}
    </div>
  );
}

const CasesView = later(async () => (await import("./CasesView.js")).CasesView);
const ChangesView = later(async () => (await import("./ChangesView.js")).ChangesView);
const GraphView = later(async () => (await import("./GraphView.js")).GraphView);
const NumericsView = later(async () => (await import("./NumericsView.js")).NumericsView);
const PlannedView = later(async () => (await import("./PlannedView.js")).PlannedView);
const ProfileView = later(async () => (await import("./ProfileView.js")).ProfileView);
const QuantizedView = later(async () => (await import("./QuantizedView.js")).QuantizedView);
const SpeechView = later(async () => (await import("./SpeechView.js")).SpeechView);
const TalkView = later(async () => (await import("./TalkView.js")).TalkView);
const RecordView = later(async () => (await import("./RecordView.js")).RecordView);

const BODIES: Record<View, () => JSX.Element | null> = {
  file: ProgramView,
  planned: PlannedView,
  talk: TalkView,
  speech: SpeechView,
  call: RunView,
  cases: CasesView,
  record: RecordView,
  profile: ProfileView,
  numerics: NumericsView,
  summary: SummaryView,
  memory: MemoryView,
  quantized: QuantizedView,
  delegates: DelegatesView,
  graph: GraphView,
  table: TableView,
  text: TextView,
  changes: ChangesView,
};

function Body(): JSX.Element {
  const step = app.step.value;
  const isFile = step === "program" || step === "run";
  if (!isFile && !version.value) return <Waiting />;
  const Shown = BODIES[view.value];
  return <Shown />;
}

export function Pane(): JSX.Element {
  const step = app.step.value;
  return (
    <>
      <div class="pane-head">
        <div>
          <h1>{STEP_NAMES[step]}</h1>
          <p class="soft">{stepWords(step)}</p>
        </div>
        <ViewTabs />
      </div>
      <Body />
    </>
  );
}
