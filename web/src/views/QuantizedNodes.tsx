// Every node of a quantized method, worst first, and every range that tensors were quantized with.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { decibelsOf } from "@sconce/recipe/quantize/report.js";
import type { QuantizedRange } from "@sconce/types/index.js";
import { showNode } from "../actions.js";
import { leaveOut } from "../actions/recipes.js";
import { rows } from "../derived.js";
import { methodQuantization, nodeLines, type NodeLine } from "../quantized.js";
import { app } from "../state.js";
import { formatFigure, formatNumber, formatSnr, plural, shortOp } from "../ui/format.js";
import { Bar } from "../ui/parts.js";
import { SortedTable, type Column } from "../ui/SortedTable.js";

/** Decibels at which nothing is left to be seen of the noise. */
const CLEAN_DB = 60;

const badness = (snr: number): number => Math.min(1, Math.max(0, 1 - snr / CLEAN_DB));

type Params = Pick<QuantizedRange, "scale" | "zeroPoint" | "isDynamic" | "scaleCount">;
type Numbers = number | readonly number[] | null | undefined;

/** One number, or the span of many. */
function spanOf(of: NonNullable<Numbers>, show: (n: number) => string): string {
  if (typeof of === "number") return show(of);
  const [least, most] = [
    of.reduce((a, b) => Math.min(a, b), Infinity),
    of.reduce((a, b) => Math.max(a, b), -Infinity),
  ];
  return least === most ? show(least) : `${show(least)} … ${show(most)}`;
}

/** Numbers of a range: halves have none, and those of many groups are too many for the report. */
function paramsOf(
  { isDynamic, scaleCount = 0 }: Params,
  of: Numbers,
  show: (n: number) => string,
): string {
  if (isDynamic) return "in each run";
  if (of !== undefined && of !== null) return spanOf(of, show);
  return scaleCount > 0 ? "not listed" : "";
}

const scaleOf = (range: Params): string => paramsOf(range, range.scale, formatFigure);
const zeroOf = (range: Params): string => paramsOf(range, range.zeroPoint, String);

function rangeOf({ low, high }: QuantizedRange): string {
  if (low === undefined || high === undefined || low === null || high === null) return "";
  return `${formatNumber(low)} … ${formatNumber(high)}`;
}

const rangeWords = (range: QuantizedRange): string =>
  [
    ["range", rangeOf(range)],
    ["scale", scaleOf(range)],
    ["zero point", zeroOf(range)],
  ]
    .filter(([, text]) => text !== "")
    .map((words) => words.join(" "))
    .join(", ");

const firstOf = (value: Numbers): number | null =>
  (typeof value === "number" ? value : value?.[0]) ?? null;

function becomes({ isQuantized, reason }: NodeLine): string {
  return isQuantized ? "quantized" : (reason ?? "as it was");
}

/** In the quantized graph, or, of a node that is part of another there, in the one before. */
function showOnGraph(node: string): void {
  const isThere = rows.value?.some(({ name }) => name === node) ?? true;
  showNode(isThere ? "quantized" : "source", app.method.value, node, "graph");
}

const NODES: readonly Column<NodeLine>[] = [
  {
    id: "node",
    name: "Node",
    key: ({ node }) => node,
    show: ({ node }) => node,
    title: ({ node }) => node,
    width: "minmax(7rem, 1.2fr)",
  },
  {
    id: "op",
    name: "Operator",
    key: ({ op }) => op,
    show: ({ op }) => shortOp(op),
    title: ({ op }) => op,
    from: "wide",
    width: "minmax(6rem, 1fr)",
  },
  {
    id: "snr",
    name: "SNR",
    key: decibelsOf,
    show: (line) => {
      const snr = decibelsOf(line);
      return snr === null ? "" : formatSnr(snr);
    },
    isNumber: true,
    width: "5.75rem",
  },
  {
    id: "bar",
    name: "",
    key: decibelsOf,
    show: (line) => {
      const snr = decibelsOf(line);
      return snr === null ? null : <Bar share={badness(snr)} class="is-bad" />;
    },
    from: "wide",
    width: "3.5rem",
  },
  {
    id: "range",
    name: "Range",
    key: ({ range }) => range?.high ?? null,
    show: ({ range }) => (range ? rangeOf(range) : ""),
    from: "wide",
    width: "minmax(7rem, 1fr)",
  },
  {
    id: "scale",
    name: "Scale",
    key: ({ range }) => firstOf(range?.scale),
    show: ({ range }) => (range ? scaleOf(range) : ""),
    isNumber: true,
    from: "wide",
    width: "5.5rem",
  },
  {
    id: "zero",
    name: "Zero",
    key: ({ range }) => firstOf(range?.zeroPoint),
    show: ({ range }) => (range ? zeroOf(range) : ""),
    isNumber: true,
    from: "wide",
    width: "4rem",
  },
  {
    id: "state",
    name: "Result",
    key: (line) => becomes(line),
    show: (line) => <span class={line.isQuantized ? "" : "soft"}>{becomes(line)}</span>,
    title: becomes,
    width: "minmax(5rem, 1.3fr)",
  },
];

function Facts(props: { line: NodeLine }): JSX.Element {
  const { range, largestDifference, nonFiniteMismatches } = props.line;
  const facts = [
    largestDifference === undefined || largestDifference === null
      ? ""
      : `largest difference ${formatFigure(largestDifference)}`,
    nonFiniteMismatches
      ? `${plural(nonFiniteMismatches, "element")} NaN or infinite, and not the same in both`
      : "",
    range ? rangeWords(range) : "",
  ].filter(Boolean);
  return <span class="soft">{facts.join("; ")}</span>;
}

/** The picked node, and advice on it. */
function Foot(props: { line: NodeLine | undefined }): JSX.Element {
  const { line } = props;
  if (!line)
    return <p class="change-foot soft">Pick a node to see more of it, or to leave it as it is.</p>;
  return (
    <div class="change-foot">
      <span>
        <span class="mono">{line.node}</span> <span class="soft">{becomes(line)}</span>
      </span>
      <Facts line={line} />
      <span class="change-ways">
        {line.isQuantized ? (
          <button
            type="button"
            disabled={app.busy.value !== null}
            onClick={() => leaveOut(line.node)}
          >
            Skip it and lower again
          </button>
        ) : null}
        <button type="button" class="quiet" onClick={() => showOnGraph(line.node)}>
          Show on the graph
        </button>
      </span>
    </div>
  );
}

export function QuantizedNodes(): JSX.Element {
  const [picked, pick] = useState("");
  const lines = nodeLines.value;
  const active = lines.find(({ node }) => node === picked);
  return (
    <>
      <SortedTable
        label="Nodes"
        rows={lines}
        columns={NODES}
        by="snr"
        isDescending={false}
        isActive={(line) => line === active}
        onPick={({ node }) => pick(node)}
        empty="There are no nodes."
      />
      <Foot line={active} />
    </>
  );
}

// --- Ranges ------------------------------------------------------------------------------------------

const kindOf = ({ isWeight, isDynamic }: QuantizedRange): string =>
  isWeight ? "weight" : isDynamic ? "in each run" : "calibrated";

const RANGES: readonly Column<QuantizedRange>[] = [
  {
    id: "tensors",
    name: "Tensors",
    key: ({ tensors }) => tensors.join(", "),
    show: ({ tensors }) => tensors.join(", "),
    title: ({ tensors }) => tensors.join(", "),
    width: "minmax(9rem, 1.6fr)",
  },
  {
    id: "kind",
    name: "Kind",
    key: kindOf,
    show: kindOf,
    from: "wide",
    width: "7rem",
  },
  {
    id: "range",
    name: "Range",
    key: ({ high }) => high ?? null,
    show: rangeOf,
    width: "12rem",
  },
  {
    id: "scale",
    name: "Scale",
    key: ({ scale }) => firstOf(scale),
    show: scaleOf,
    isNumber: true,
    from: "narrow",
    width: "12rem",
  },
  {
    id: "zero",
    name: "Zero point",
    key: ({ zeroPoint }) => firstOf(zeroPoint),
    show: zeroOf,
    isNumber: true,
    from: "wide",
    width: "7rem",
  },
  {
    id: "scales",
    name: "Scales",
    key: ({ scaleCount }) => scaleCount ?? null,
    show: ({ scaleCount }) => scaleCount ?? "",
    isNumber: true,
    from: "wide",
    width: "5rem",
  },
];

/** All of the range that is picked: the table leaves out what it has no room for. */
function RangeFoot(props: { range: QuantizedRange | undefined }): JSX.Element {
  const { range } = props;
  if (!range) return <p class="change-foot soft">Pick a range to see all of it.</p>;
  const facts = [
    ["", kindOf(range)],
    ["range ", rangeOf(range)],
    ["scale ", scaleOf(range)],
    ["zero point ", zeroOf(range)],
  ];
  const texts = facts.filter(([, text]) => text !== "").map((fact) => fact.join(""));
  return (
    <div class="change-foot">
      <span class="mono">{range.tensors.join(", ")}</span>
      <span class="soft">{texts.join(", ")}</span>
    </div>
  );
}

export function QuantizedRanges(): JSX.Element {
  const [picked, pick] = useState<QuantizedRange | null>(null);
  const { ranges = [] } = methodQuantization.value ?? {};
  const active = ranges.find((range) => range === picked);
  return (
    <>
      <SortedTable
        label="Ranges"
        rows={ranges}
        columns={RANGES}
        by="tensors"
        isDescending={false}
        isActive={(range) => range === active}
        onPick={pick}
        empty="No ranges were observed: scales come from the weights alone."
      />
      {ranges.length > 0 ? <RangeFoot range={active} /> : null}
    </>
  );
}
