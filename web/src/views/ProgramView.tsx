// The file as a map, to scale, and what each method in it takes.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { ProgramMethodInfo, ProgramReport, ProgramValueInfo } from "@sconce/types/index.js";
import { save, saveRecord, showPart } from "../actions.js";
import { backendName } from "../delegates.js";
import { programMethod } from "../derived.js";
import { app } from "../state.js";
import { formatBytes, formatCount, formatType, plural } from "../ui/format.js";
import { Figure, FIRST, More } from "../ui/parts.js";
import { Waiting } from "./Waiting.js";
import { Ops } from "./SummaryView.js";

type ProgramPart = ProgramMethodInfo["parts"][number];

interface Part {
  id: string;
  name: string;
  words: string;
  bytes: number;
}

function partsOf(report: ProgramReport): Part[] {
  const { programBytes, constantBytes, mutableBytes, delegateBytes, namedBytes, otherBytes } =
    report;
  const backends = [...new Set(report.methods.flatMap((method) => method.delegates))];
  const delegates = report.methods.reduce((sum, method) => sum + method.parts.length, 0);
  const parts = [
    {
      id: "program",
      name: "Program",
      words: "header, methods, instructions, shapes",
      bytes: programBytes,
    },
    {
      id: "constants",
      name: "Constants",
      words: "weights, stored once for all methods",
      bytes: constantBytes,
    },
    {
      id: "state",
      name: "Initial state",
      words: "what buffers hold before the first run",
      bytes: mutableBytes,
    },
    {
      id: "delegates",
      name: "Delegates",
      words: `${plural(delegates, "part")} that backends made ahead of time: ${backends.join(", ")}`,
      bytes: delegateBytes,
    },
    {
      id: "named",
      name: "Named data",
      words: `${plural(report.named.length, "piece")} of data that backends look up by name`,
      bytes: namedBytes,
    },
    {
      id: "other",
      name: "Other data",
      words: "segments that nothing in the program names",
      bytes: otherBytes,
    },
  ];
  const rest = parts.reduce((left, part) => left - part.bytes, report.fileBytes);
  const gaps = {
    id: "rest",
    name: "Alignment",
    words: "gaps, so that data can be used in place",
    bytes: rest,
  };
  return [...parts, gaps].filter((part) => part.bytes > 0);
}

function FileMap(props: { report: ProgramReport }): JSX.Element {
  const parts = partsOf(props.report);
  const total = parts.reduce((sum, part) => sum + part.bytes, 0) || 1;
  return (
    <section>
      <h2>The file, to scale</h2>
      <div class="filemap" aria-hidden="true">
        {parts.map((part) => (
          <span
            key={part.id}
            class={`part-${part.id}`}
            style={{ flexGrow: part.bytes / total }}
            title={`${part.name}: ${formatBytes(part.bytes)}`}
          />
        ))}
      </div>
      <ul class="parts">
        {parts.map((part) => (
          <li key={part.id}>
            <span class={`swatch part-${part.id}`} aria-hidden="true" />
            <span class="part-name">{part.name}</span>
            <span class="soft part-words">{part.words}</span>
            <span class="num">{formatBytes(part.bytes)}</span>
            <span class="num soft">{((100 * part.bytes) / total).toFixed(1)} %</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** "f32[1, 3] at most 12 B", with the value of a frozen scalar. */
export function describeValue(value: ProgramValueInfo): string {
  const type = formatType(value, app.dtypes.value);
  const frozen =
    value.value === undefined || value.value === null ? "" : ` = ${String(value.value)}`;
  const size =
    value.bytes === undefined
      ? ""
      : `, ${value.dynamic ? "at most " : ""}${formatBytes(value.bytes)}`;
  return `${type}${frozen}${size}`;
}

function Values(props: { title: string; values: readonly ProgramValueInfo[] }): JSX.Element {
  return (
    <section>
      <h2>{props.title}</h2>
      {props.values.length === 0 ? (
        <p class="soft">none</p>
      ) : (
        <ul class="ports mono">
          {props.values.map((value, i) => (
            <li key={i}>
              <span>{i}</span>
              <span class="soft">{describeValue(value)}</span>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

/** What a backend says of its part, in lines, once it is opened. */
function PartLines(props: { method: string; index: number }): JSX.Element {
  const { method, index } = props;
  const [shown, setShown] = useState(FIRST);
  const [word, setWord] = useState("");
  const told = app.partTexts.value.get(`${method}/${index}`);
  if (!told) return <Waiting />;
  const { lines: all, fault } = told;
  if (fault !== "") return <p class="bad">cannot be shown: {fault}</p>;
  if (all.length === 0)
    return <p class="soft">This engine has no words for what this backend makes.</p>;
  const lines = all.filter((line) => line.toLowerCase().includes(word.toLowerCase()));
  return (
    <>
      {all.length > FIRST ? (
        <input
          type="search"
          value={word}
          spellcheck={false}
          aria-label={`Filter lines of delegate ${index}`}
          placeholder={`Filter ${formatCount(all.length)} lines`}
          onInput={(event) => setWord(event.currentTarget.value)}
        />
      ) : null}
      <ol class="part-lines mono">
        {lines.slice(0, shown).map((line, i) => (
          <li key={i}>{line}</li>
        ))}
      </ol>
      {lines.length === 0 ? <p class="soft">No line matches.</p> : null}
      <More left={lines.length - shown} onClick={() => setShown(shown + FIRST)} />
    </>
  );
}

function PartDetails(props: { method: string; index: number; part: ProgramPart }): JSX.Element {
  const { method, index, part } = props;
  const [isOpen, setOpen] = useState(false);
  return (
    <details
      class="program-part"
      onToggle={(event) => {
        setOpen(event.currentTarget.open);
        if (event.currentTarget.open) showPart(method, index);
      }}
    >
      <summary>
        <span class="mono">
          {backendName(part.backend)}:{index}
        </span>
        {part.isKnown ? null : <span class="bad">this engine does not have the backend</span>}
        <span class="num">{formatBytes(part.bytes)}</span>
      </summary>
      {isOpen ? <PartLines method={method} index={index} /> : null}
    </details>
  );
}

function Delegates(props: { method: ProgramMethodInfo }): JSX.Element | null {
  const { name, parts } = props.method;
  const [shown, setShown] = useState(FIRST / 5);
  if (parts.length === 0) return null;
  return (
    <section>
      <h2>
        Delegates <span class="soft">{formatCount(parts.length)}</span>
      </h2>
      {parts.slice(0, shown).map((part, i) => (
        <PartDetails key={i} method={name} index={i} part={part} />
      ))}
      <More left={parts.length - shown} onClick={() => setShown(shown + FIRST)} />
    </section>
  );
}

function Method(props: { method: ProgramMethodInfo }): JSX.Element {
  const { method } = props;
  const planned = method.plannedBytes.reduce((sum, bytes) => sum + bytes, 0);
  return (
    <>
      <section>
        <h2>
          Method <span class="mono">{method.name}</span>
        </h2>
        <dl class="figures">
          <Figure name="instructions">{formatCount(method.instructions)}</Figure>
          <Figure name="planned memory">{formatBytes(planned)}</Figure>
          {method.delegates.length > 0 ? (
            <Figure name="delegates">{method.delegates.join(", ")}</Figure>
          ) : null}
        </dl>
      </section>
      <div class="columns">
        <Values title="Inputs" values={method.inputs} />
        <Values title="Outputs" values={method.outputs} />
      </div>
      <Delegates key={method.name} method={method} />
      {Object.keys(method.ops).length > 0 ? (
        <section>
          <h2>Operators</h2>
          <Ops ops={method.ops} />
        </section>
      ) : null}
    </>
  );
}

/** What can be saved of the program; the record with the weights that it can compute from, or not. */
function Saving(): JSX.Element {
  const [isLight, setLight] = useState(false);
  const hasRecord = app.document.value?.kind === "pt2" && app.recordName.value !== "";
  return (
    <div class="saving">
      <button type="button" onClick={save}>
        Save .pte
      </button>
      {hasRecord ? (
        <>
          <button
            type="button"
            onClick={() => void saveRecord(isLight)}
            title="The programs of all stages, and which node each instruction computes: for debugging and profiling"
          >
            Save .etrecord
          </button>
          <label
            class="inline"
            title="Smaller: enough for profiles and memory plans, but no values can be computed from it to compare with"
          >
            <input
              type="checkbox"
              checked={isLight}
              onChange={(event) => setLight(event.currentTarget.checked)}
            />
            without weights
          </label>
        </>
      ) : null}
    </div>
  );
}

export function ProgramView(): JSX.Element {
  const report = app.program.value;
  if (!report) return <Waiting />;
  return (
    <div class="scroll program">
      <div class="program-head">
        <dl class="figures">
          <Figure name="file">{formatBytes(report.fileBytes)}</Figure>
          <Figure name="methods">{formatCount(report.methods.length)}</Figure>
        </dl>
        <Saving />
      </div>
      <FileMap report={report} />
      {programMethod.value ? <Method method={programMethod.value} /> : null}
    </div>
  );
}
