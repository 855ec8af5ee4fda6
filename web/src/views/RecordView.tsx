// The record of a program apart from its graphs: its stages, its inputs, and their results.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { RecordStage } from "@sconce/types/index.js";
import { showMethod, showNode, takeRecordInputs } from "../actions.js";
import { methodNames, recordInputsFor } from "../derived.js";
import { app, type RecordedValue, type RecordContents } from "../state.js";
import { formatNumber, plural } from "../ui/format.js";
import { FIRST, More } from "../ui/parts.js";
import { TensorBody, typeOfTensor } from "./Outputs.js";

/** Stages that the page has steps for, and what they are called in a list. */
const STAGES: Readonly<Record<string, { step: "source" | "edge"; title: string }>> = {
  exported_program: { step: "source", title: "Exported model" },
  edge_dialect_exported_program: { step: "edge", title: "Edge program" },
};

function Stage(props: { stage: RecordStage }): JSX.Element {
  const { stage, method, nodes, hasWeights } = props.stage;
  const { step, title } = STAGES[stage] ?? { step: undefined, title: stage };
  return (
    <li>
      <span>
        {step && app.steps.value[step].status === "done" ? (
          <button
            type="button"
            class="link"
            title={stage}
            onClick={() => showNode(step, method, "", "graph")}
          >
            {title}
          </button>
        ) : (
          <span title={stage}>{title}</span>
        )}{" "}
        <span class="mono soft">{method}</span>
      </span>
      <span class="soft">
        {plural(nodes, "node")}, {hasWeights ? "with weights" : "without weights"}
      </span>
    </li>
  );
}

function Stages(props: { stages: readonly RecordStage[] }): JSX.Element {
  const [shown, setShown] = useState(FIRST);
  return (
    <section>
      <h2>Graphs</h2>
      <ul class="ports record-list">
        {props.stages.slice(0, shown).map((stage) => (
          <Stage key={`${stage.stage}/${stage.method}`} stage={stage} />
        ))}
      </ul>
      <More left={props.stages.length - shown} onClick={() => setShown(shown + FIRST)} />
    </section>
  );
}

function range({ view }: RecordedValue): string {
  if (view.kind !== "tensor") return view.text;
  if (!(view.min <= view.max)) return "";
  return view.min === view.max
    ? `all ${formatNumber(view.min)}`
    : `${formatNumber(view.min)} … ${formatNumber(view.max)}`;
}

function Value(props: { value: RecordedValue; noun: string; index: number }): JSX.Element {
  const { value, noun, index } = props;
  const { view } = value;
  const head = (
    <>
      <span>{value.name ? <span class="mono">{value.name}</span> : `${noun} ${index}`}</span>
      <span class="mono soft">{view.kind === "tensor" ? typeOfTensor(view) : view.kind}</span>
      <span class="num soft">{range(value)}</span>
    </>
  );
  if (view.kind !== "tensor") return <p class="record-value">{head}</p>;
  return (
    <details class="record-value">
      <summary title="Show its values">{head}</summary>
      <TensorBody output={view} />
    </details>
  );
}

function Values(props: { values: readonly RecordedValue[]; noun: string }): JSX.Element {
  const { values, noun } = props;
  const [shown, setShown] = useState(FIRST);
  return (
    <>
      {values.slice(0, shown).map((value, i) => (
        <Value key={i} value={value} noun={noun} index={i} />
      ))}
      <More left={values.length - shown} onClick={() => setShown(shown + FIRST)} />
    </>
  );
}

/** The methods that take the inputs, the one that is shown first. */
function takers(): readonly string[] {
  const now = app.method.value;
  const found = methodNames.value.filter((name) => recordInputsFor(name) !== null);
  return [...found].sort((a, b) => Number(b === now) - Number(a === now));
}

function Take(): JSX.Element | null {
  if (!app.program.value) return null;
  const [method] = takers();
  if (method === undefined)
    return <p class="soft">No method of the program that is open takes these inputs.</p>;
  const isSingle = methodNames.value.length === 1;
  return (
    <button
      type="button"
      title="Puts them into the fields of Call: runs, profiles and comparisons take them from there"
      onClick={() => {
        showMethod(method);
        takeRecordInputs(method);
      }}
    >
      Use as inputs{isSingle ? "" : " "}
      {isSingle ? null : <span class="mono">{method}</span>}
    </button>
  );
}

function Inputs(props: { contents: RecordContents }): JSX.Element {
  const { inputs } = props.contents;
  return (
    <section>
      <div class="record-head">
        <h2>Representative inputs</h2>
        {inputs ? <Take /> : null}
      </div>
      {inputs === null ? (
        <p class="soft">
          The record has no inputs: values are compared on the inputs that the model was exported
          with, if they are there.
        </p>
      ) : inputs.length === 0 ? (
        <p class="soft">The model takes no inputs.</p>
      ) : (
        <Values values={inputs} noun="input" />
      )}
    </section>
  );
}

function Outputs(props: { contents: RecordContents }): JSX.Element {
  const { outputs } = props.contents;
  return (
    <section>
      <h2>Reference outputs</h2>
      {outputs.length === 0 ? (
        <p class="soft">
          The record has no outputs: outputs are compared with the results of its graph on the
          inputs.
        </p>
      ) : null}
      {outputs.map(({ method, cases }) => (
        <div key={method}>
          {cases.map((values, i) => (
            <div key={i}>
              {outputs.length > 1 || cases.length > 1 ? (
                <h3>
                  <span class="mono">{method}</span>
                  {cases.length > 1 ? `, case ${i}` : ""}
                </h3>
              ) : null}
              <Values values={values} noun="output" />
            </div>
          ))}
        </div>
      ))}
    </section>
  );
}

export function RecordView(): JSX.Element {
  const { value: contents } = app.record;
  if (!app.recordName.value)
    return (
      <p class="waiting">
        The record went with the work that was cancelled. Lower the model again to have it back.
      </p>
    );
  if (!contents) return <p class="waiting">Reading the record.</p>;
  if (contents.fault) return <p class="waiting">{contents.fault}</p>;
  return (
    <div class="scroll record">
      <p>
        <span class="mono">{app.recordName.value}</span>
        {contents.hasHandles ? null : (
          <span class="bad"> has no debug handles: events cannot be associated with nodes</span>
        )}
      </p>
      <Stages stages={contents.stages} />
      <Inputs contents={contents} />
      <Outputs contents={contents} />
      {contents.unknownEntries.length > 0 ? (
        <section>
          <h2>Other entries</h2>
          <p class="soft mono">{contents.unknownEntries.join(", ")}</p>
        </section>
      ) : null}
      {contents.unreadEntries.length > 0 ? (
        <section>
          <h2>Damaged entries</h2>
          {contents.unreadEntries.map(({ name, reason }) => (
            <p class="bad" key={name}>
              <span class="mono">{name}</span> cannot be read: {reason}
            </p>
          ))}
        </section>
      ) : null}
    </div>
  );
}
