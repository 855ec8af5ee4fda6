// Results of a run: what each is, its range, its first values or the highest ones.
import type { JSX } from "preact";
import { saveOutput } from "../actions.js";
import { app, type OutputView, type TensorView } from "../state.js";
import { formatCount, formatNumber, formatType } from "../ui/format.js";
import { Bar, Figure } from "../ui/parts.js";

function Top(props: { output: TensorView }): JSX.Element | null {
  const { top, min } = props.output;
  if (top.length === 0) return null;
  const span = top[0]!.value - min || 1;
  return (
    <div class="top">
      <h4>Highest</h4>
      <ol>
        {top.map(({ index, value }) => (
          <li key={index}>
            <span class="mono soft">[{index}]</span>
            <Bar share={(value - min) / span} />
            <span class="num">{formatNumber(value)}</span>
          </li>
        ))}
      </ol>
    </div>
  );
}

/** A tensor in short: its range, its highest values and its first ones. */
export function TensorBody(props: { output: TensorView }): JSX.Element {
  const { output } = props;
  return (
    <>
      <dl class="figures">
        {output.min <= output.max ? (
          <>
            <Figure name="min">{formatNumber(output.min)}</Figure>
            <Figure name="max">{formatNumber(output.max)}</Figure>
            <Figure name="mean">{formatNumber(output.mean)}</Figure>
          </>
        ) : null}
        <Figure name="NaN">
          {output.nanCount === 0 ? (
            "none"
          ) : (
            <strong class="bad">{formatCount(output.nanCount)}</strong>
          )}
        </Figure>
        <Figure name="elements">{formatCount(output.count)}</Figure>
      </dl>
      <div class="output-body">
        <Top output={output} />
        {output.first.length === 0 ? null : (
          <div class="first">
            <h4>First values</h4>
            <ol class="mono">
              {output.first.map((value, i) => (
                <li key={i}>{formatNumber(value)}</li>
              ))}
              {output.count > output.first.length ? <li>…</li> : null}
            </ol>
          </div>
        )}
      </div>
    </>
  );
}

export const typeOfTensor = ({ tensor }: TensorView): string =>
  formatType(
    { name: "", kind: "tensor", dtype: tensor.dtype, shape: [...tensor.shape] },
    app.dtypes.value,
  );

function Output(props: { method: string; index: number; output: OutputView }): JSX.Element {
  const { output, index } = props;
  if (output.kind !== "tensor")
    return (
      <li class="output">
        <h3>
          Output {index} <span class="mono soft">{output.kind}</span>
        </h3>
        <p class="mono scalar">{output.text}</p>
      </li>
    );
  const input = inputOf(props.method, index);
  const type = typeOfTensor(output);
  return (
    <li class="output">
      <div class="output-head">
        <h3>
          Output {index} <span class="mono soft">{type}</span>
          {input !== undefined && <span class="soft"> input {input} after the call</span>}
        </h3>
        <button type="button" class="quiet" onClick={() => saveOutput(props.method, index)}>
          Save .npy
        </button>
      </div>
      <TensorBody output={output} />
    </li>
  );
}

/** Which input an output is, for a method that writes to its inputs. */
function inputOf(method: string, index: number): number | undefined {
  const info = app.program.value?.methods.find(({ name }) => name === method);
  return info?.outputs[index]?.ofInput;
}

export function Outputs(props: {
  method: string;
  outputs: readonly OutputView[];
}): JSX.Element | null {
  if (props.outputs.length === 0) return null;
  return (
    <ul class="outputs">
      {props.outputs.map((output, i) => (
        <Output key={i} method={props.method} index={i} output={output} />
      ))}
    </ul>
  );
}
