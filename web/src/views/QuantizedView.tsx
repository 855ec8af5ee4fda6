// The quantized program compared with the float one: what it saves, what it costs, and why.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { decibelsOf } from "@sconce/recipe/quantize/report.js";
import { compareBoth } from "../actions/compared.js";
import { isOwn, methodQuantization, worstLine } from "../quantized.js";
import { app, type Compared, type Speed } from "../state.js";
import {
  formatBytes,
  formatCount,
  formatFigure,
  formatMs,
  formatSnr,
  plural,
} from "../ui/format.js";
import { Bar, FieldError } from "../ui/parts.js";
import { QuantizedNodes, QuantizedRanges } from "./QuantizedNodes.js";
import { Waiting } from "./Waiting.js";
import { BothFaces, BothStories } from "./QuantizedSamples.js";

const LOOKS = { overview: "Against float", nodes: "Nodes", ranges: "Ranges" } as const;
type Look = keyof typeof LOOKS;

function Looks(props: { look: Look; onPick: (look: Look) => void }): JSX.Element {
  return (
    <div class="views" role="group" aria-label="Parts of the report">
      {(Object.keys(LOOKS) as Look[]).map((look) => (
        <button
          key={look}
          type="button"
          class="segment"
          aria-pressed={props.look === look}
          onClick={() => props.onPick(look)}
        >
          {LOOKS[look]}
        </button>
      ))}
    </div>
  );
}

/** "3.1 times smaller", of two measures of which the smaller is the better. */
function times(float: number, quantized: number, better: string, worse: string): string {
  if (float <= 0 || quantized <= 0) return "";
  const isBetter = quantized <= float;
  const ratio = isBetter ? float / quantized : quantized / float;
  // A smaller ratio lies within the difference between one measurement and the next.
  return ratio < 1.1
    ? "about the same"
    : `${formatFigure(ratio)} times ${isBetter ? better : worse}`;
}

interface Line {
  name: JSX.Element | string;
  title?: string;
  float: number;
  quantized: number;
  show(value: number): string;
  words: string;
}

const ON: Record<Speed["on"], string> = {
  calibration: "the first call of the calibration",
  example: "the example inputs of the file",
  random: "random inputs",
};

function speedLine(speed: Speed): Line {
  // Other work of the machine makes runs slower, and never faster.
  const [float, quantized] = [Math.min(...speed.float), Math.min(...speed.quantized)];
  return {
    name: (
      <>
        A run of <span class="mono">{speed.method}</span>
      </>
    ),
    title: `Fastest of ${plural(speed.float.length, "run")} of each, in turns, on ${ON[speed.on]}`,
    float,
    quantized,
    show: formatMs,
    words: times(float, quantized, "faster", "slower"),
  };
}

function linesOf({ floatBytes, quantizedBytes, speeds }: Compared): Line[] {
  const program: Line = {
    name: "Program",
    float: floatBytes,
    quantized: quantizedBytes,
    show: formatBytes,
    words: times(floatBytes, quantizedBytes, "smaller", "larger"),
  };
  return [...(floatBytes > 0 ? [program] : []), ...speeds.map(speedLine)];
}

/** The two values to scale, one over the other. */
function Two(props: { line: Line }): JSX.Element {
  const { float, quantized } = props.line;
  const most = Math.max(float, quantized);
  return (
    <div class="two-bars">
      <Bar share={float / most} />
      <Bar share={quantized / most} class="is-quantized" />
    </div>
  );
}

function Comparison(props: { compared: Compared }): JSX.Element {
  return (
    <div class="compared-table">
      <table>
        <thead>
          <tr>
            <th scope="col">
              <span class="unseen">Measure</span>
            </th>
            <th scope="col" class="num">
              Float
            </th>
            <th scope="col" class="num">
              Quantized
            </th>
            <th scope="col" class="bars">
              <span class="unseen">To scale</span>
            </th>
            <th scope="col">
              <span class="unseen">In words</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {linesOf(props.compared).map((line, i) => (
            <tr key={i} title={line.title}>
              <th scope="row">{line.name}</th>
              <td class="num">{line.show(line.float)}</td>
              <td class="num">{line.show(line.quantized)}</td>
              <td class="bars">
                <Two line={line} />
              </td>
              <td class="words">{line.words}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** How times were taken, and on what. */
function Timed(props: { speeds: readonly Speed[] }): JSX.Element | null {
  const { speeds } = props;
  if (speeds.length === 0) return null;
  const inputs = [...new Set(speeds.map(({ on }) => ON[on]))].join(" or ");
  return (
    <p class="soft">
      Both are lowered the same way, and run here in turns on {inputs}; the fastest run of each
      counts.
    </p>
  );
}

/** Remarks: patterns that fit no node, numbers left out, layers that had to stay. */
function Notes(): JSX.Element | null {
  const { notes = [] } = methodQuantization.value ?? {};
  if (notes.length === 0) return null;
  return (
    <ul class="quantized-notes soft" aria-label="Notes">
      {notes.map((note) => (
        <li key={note}>{note}</li>
      ))}
    </ul>
  );
}

function BothOutputs(): JSX.Element | null {
  const { outputs = [] } = methodQuantization.value ?? {};
  if (outputs.length === 0) return null;
  return (
    <section>
      <h2>
        Outputs of <span class="mono">{app.method.value}</span>{" "}
        <span class="soft">next to those of the float program</span>
      </h2>
      <div class="compared-table both-outputs">
        <table>
          <thead>
            <tr>
              <th scope="col">Output</th>
              <th
                scope="col"
                class="num"
                title="Signal to noise; every 20 dB is one more correct digit"
              >
                SNR
              </th>
              <th scope="col" class="num">
                Largest difference
              </th>
            </tr>
          </thead>
          <tbody>
            {outputs.map((one) => (
              <tr key={one.output}>
                <th scope="row">output {one.output}</th>
                <td class="num">{formatSnr(decibelsOf(one) ?? NaN)}</td>
                <td class="num">
                  {one.largestDifference === null
                    ? "not finite"
                    : formatFigure(one.largestDifference)}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p class="soft">Every 20 dB of signal to noise is one more correct digit.</p>
    </section>
  );
}

/** The quantization in a sentence or two. */
function Words(): JSX.Element | null {
  const of = methodQuantization.value;
  if (!of) return null;
  const done = of.nodes.filter(({ isQuantized }) => isQuantized).length;
  const worst = worstLine.value;
  const { calibrationBatches: calls } = of;
  return (
    <p class="quantized-words">
      {formatCount(done)} of the {plural(of.nodes.length, "node")} of{" "}
      <span class="mono">{app.method.value}</span> {done === 1 ? "is" : "are"} quantized
      {calls > 0
        ? `, with ranges from ${plural(calls, "call")}${isOwn.value ? "" : ", the example inputs of the file"}`
        : "; no calibration was needed"}
      .
      {worst ? (
        <>
          {" "}
          Farthest off is <span class="mono">{worst.node}</span>, at {formatSnr(decibelsOf(worst)!)}
          .
        </>
      ) : null}
    </p>
  );
}

function Overview(): JSX.Element {
  const { value: compared } = app.compared;
  const isIdle = app.busy.value === null;
  return (
    <div class="scroll quantized">
      <Words />
      <Notes />
      {compared ? (
        <section>
          <h2>Compared with the float program</h2>
          <Comparison compared={compared} />
          <Timed speeds={compared.speeds} />
          <FieldError
            text={compared.fault ? `The two cannot be compared. ${compared.fault}` : ""}
          />
        </section>
      ) : null}
      <BothOutputs />
      <div class="buttons">
        <button type="button" disabled={!isIdle} onClick={() => void compareBoth()}>
          {compared ? "Measure again" : "Run both"}
        </button>
      </div>
      {compared?.sightings ? <BothFaces sightings={compared.sightings} /> : null}
      {compared?.stories ? <BothStories stories={compared.stories} /> : null}
    </div>
  );
}

export function QuantizedView(): JSX.Element {
  const [look, setLook] = useState<Look>("overview");
  if (!app.quantization.value) return <Waiting />;
  if (!methodQuantization.value)
    return (
      <p class="waiting">
        {app.method.value} was not quantized: it returns a constant, or the recipe left it out.
      </p>
    );
  return (
    <div class="profile quantized-view">
      <div class="profile-looks">
        <Looks look={look} onPick={setLook} />
        <p class="soft mono recipe-name">{app.quantization.value.settings.recipe}</p>
      </div>
      {look === "overview" ? <Overview /> : null}
      {look === "nodes" ? <QuantizedNodes /> : null}
      {look === "ranges" ? <QuantizedRanges /> : null}
    </div>
  );
}
