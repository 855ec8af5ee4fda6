// A method of one version, in short: what goes in and out, operators by how often they are called,
// and, at the source, what can be set before lowering.
import type { JSX } from "preact";
import type { MethodSummary, TensorInfo } from "@sconce/types/index.js";
import { methodSummary, version } from "../derived.js";
import { app } from "../state.js";
import { familyOf } from "../ui/families.js";
import { formatBytes, formatCount, formatMs, formatType, plural, shortOp } from "../ui/format.js";
import { Bar, Figure, Swatch } from "../ui/parts.js";
import { SettingsForm } from "./SettingsForm.js";

type Port = TensorInfo & { role: string; target: string };

const isUsers = (port: Port): boolean => /^(user_|constant_input)/.test(port.role);

function Ports(props: { title: string; ports: readonly Port[] }): JSX.Element {
  return (
    <section>
      <h2>{props.title}</h2>
      {props.ports.length === 0 ? (
        <p class="soft">none</p>
      ) : (
        <ul class="ports mono">
          {props.ports.map((port, i) => (
            <li key={i}>
              <span>{port.name || port.target || "value"}</span>
              <span class="soft">{formatType(port, app.dtypes.value)}</span>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

/** Operators with how often each is called, most first. */
export function Ops(props: { ops: Readonly<Record<string, number>> }): JSX.Element {
  const sorted = Object.entries(props.ops).sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1));
  const most = sorted[0]?.[1] ?? 1;
  return (
    <ul class="ops">
      {sorted.map(([op, count]) => (
        <li key={op}>
          <Swatch family={familyOf(op)} />
          <span class="mono op-name" title={op}>
            {shortOp(op)}
          </span>
          <Bar share={count / most} />
          <span class="num">{formatCount(count)}</span>
        </li>
      ))}
    </ul>
  );
}

function countRoles(method: MethodSummary, role: string): number {
  return method.inputs.filter((input) => input.role === role).length;
}

function Figures(props: { method: MethodSummary }): JSX.Element {
  const { method } = props;
  const written = method.outputs.filter((output) => output.role.endsWith("_mutation")).length;
  return (
    <dl class="figures">
      <Figure name="nodes">{formatCount(method.nodes)}</Figure>
      <Figure name="parameters">{formatCount(countRoles(method, "parameter"))}</Figure>
      <Figure name="buffers">{formatCount(countRoles(method, "buffer"))}</Figure>
      {written > 0 ? (
        <Figure name="mutated buffers" title="Buffers and inputs that a call changes">
          {formatCount(written)}
        </Figure>
      ) : null}
      {app.step.value === "source" && app.report.value ? (
        <Figure name={app.document.value!.files.length > 1 ? "weights, all files" : "weights"}>
          {formatBytes(app.report.value.constantBytes)}
        </Figure>
      ) : null}
      {method.symbols.map((s) => (
        <Figure key={s.name} name={`size ${s.name}`}>
          {s.min ?? "−∞"} to {s.max ?? "∞"}
        </Figure>
      ))}
    </dl>
  );
}

function Timings(): JSX.Element | null {
  const timings =
    version.value?.timings.filter((timing) => timing.method === app.method.value) ?? [];
  if (timings.length === 0) return null;
  const most = Math.max(...timings.map((timing) => timing.ms), 1e-9);
  return (
    <section>
      <h2>Passes</h2>
      <ul class="ops passes">
        {timings.map((timing, i) => (
          <li key={i}>
            <span class="mono op-name">{timing.pass}</span>
            <Bar share={timing.ms / most} />
            <span class="num">{formatMs(timing.ms)}</span>
            <span class="num soft">{plural(timing.nodes, "node")}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

export function SummaryView(): JSX.Element {
  const method = methodSummary.value;
  if (!method) return <p class="waiting">This method returns a constant and has no operators.</p>;
  return (
    <div class="scroll summary">
      {app.step.value === "source" ? <SettingsForm /> : null}
      <Figures method={method} />
      <div class="columns">
        <Ports title="Inputs" ports={method.inputs.filter(isUsers)} />
        <Ports title="Outputs" ports={method.outputs.filter(isUsers)} />
      </div>
      <div class="columns">
        <section>
          <h2>Operators</h2>
          <Ops ops={method.ops} />
        </section>
        <Timings />
      </div>
    </div>
  );
}
