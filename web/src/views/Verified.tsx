// How far what backends made of a method is from the kernels: its outputs, and each delegate.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Closeness, Verification } from "@sconce/types/index.js";
import { parts } from "../delegates.js";
import { app } from "../state.js";
import { formatFigure } from "../ui/format.js";
import { FIRST, More, PartLabel } from "../ui/parts.js";

type Found = Closeness | { reason: string };
interface Row {
  name: JSX.Element;
  found: Found;
}

const isFar = ({ found }: Row): boolean => "isClose" in found && !found.isClose;

function rowsOf({ outputs, delegates }: Verification[string]): Row[] {
  const rows = [
    ...outputs.map((found): Row => ({ name: <>output {found.output}</>, found })),
    ...delegates.map((found): Row => {
      const part = parts.value.find(
        ({ name, graph }) => name === found.name && graph === found.graph,
      );
      return { name: part ? <PartLabel part={part} /> : <>{found.name}</>, found };
    }),
  ];
  // What is wrong is what people look for.
  return [...rows.filter(isFar), ...rows.filter((row) => !isFar(row))];
}

function VerifiedRow(props: { row: Row }): JSX.Element {
  const { name, found } = props.row;
  if ("reason" in found)
    return (
      <tr>
        <th scope="row">{name}</th>
        <td class="verdict soft" colSpan={4}>
          not compared: {found.reason}
        </td>
      </tr>
    );
  const { difference, largest, tolerance, isClose } = found;
  return (
    <tr>
      <th scope="row">{name}</th>
      <td class="num">{difference === null ? "not finite" : formatFigure(difference)}</td>
      <td class={isClose ? "verdict soft" : "verdict bad"}>{isClose ? "close" : "too far"}</td>
      <td class="num">{formatFigure(tolerance)}</td>
      <td class="num largest">{formatFigure(largest)}</td>
    </tr>
  );
}

export function Verified(): JSX.Element | null {
  const [shown, setShown] = useState(FIRST / 5);
  const of = app.verification.value?.[app.method.value];
  if (!of) return null;
  const rows = rowsOf(of);
  return (
    <section class="verified">
      <h2>
        Beside the kernels <span class="soft">on {of.inputs} inputs</span>
      </h2>
      <div class="delegates-table">
        <table>
          <thead>
            <tr>
              <th scope="col">What</th>
              <th scope="col" class="num">
                Largest difference
              </th>
              <th scope="col" class="verdict">
                Verdict
              </th>
              <th scope="col" class="num" title="What the precision allows">
                Allowed
              </th>
              <th scope="col" class="num largest" title="Largest magnitude on the kernels">
                Largest value
              </th>
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, shown).map((row, i) => (
              <VerifiedRow key={i} row={row} />
            ))}
          </tbody>
        </table>
      </div>
      <More left={rows.length - shown} onClick={() => setShown(shown + FIRST)} />
    </section>
  );
}
