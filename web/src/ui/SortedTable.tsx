// A long table that any of its columns sorts; rows are picked by pointer and keyboard.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { Virtual } from "./Virtual.js";

/**
 * How much room there is: a phone's, where some columns would cut all others; a narrow window's, for
 * those that matter most; or enough.
 */
export type Room = "phone" | "narrow" | "wide";

export interface Column<T> {
  id: string;
  name: string;
  /** Numbers stand on the right; null goes to the end whichever way it is sorted. */
  key(row: T): string | number | null;
  show(row: T): ComponentChildren;
  title?(row: T): string;
  isNumber?: boolean;
  /** Track of the grid. */
  width: string;
  /** Left out where there is less room; without it the column is always there. */
  from?: Room;
  /** Shows the cell below the row on screens that have no room for the column. */
  isBelow?: boolean;
}

interface SortedTableProps<T> {
  label: string;
  rows: readonly T[];
  columns: readonly Column<T>[];
  /** Sorted by it at first. */
  by: string;
  isDescending: boolean;
  isActive?(row: T): boolean;
  onPick?(row: T): void;
  empty: string;
}

interface Order {
  by: string;
  isDescending: boolean;
}

function sorted<T>(rows: readonly T[], column: Column<T> | undefined, isDown: boolean): T[] {
  const sign = isDown ? -1 : 1;
  const keyed = rows.map((row, i) => ({ row, i, key: column?.key(row) ?? null }));
  keyed.sort((a, b) => {
    if (a.key === b.key) return a.i - b.i;
    if (a.key === null || b.key === null) return a.key === null ? 1 : -1;
    return a.key < b.key ? -sign : sign;
  });
  return keyed.map(({ row }) => row);
}

const NARROW = "(max-width: 74.9375em)";
const PHONE = "(max-width: 39.9375em)";
const ROOMS: readonly Room[] = ["phone", "narrow", "wide"];

/** In CSS pixels; with a line below the row. */
const HEIGHT = 26;
const TALL_HEIGHT = 44;

function useMedia(media: string): boolean {
  const [isIt, set] = useState(() => matchMedia(media).matches);
  useEffect(() => {
    const query = matchMedia(media);
    const listen = (): void => set(query.matches);
    query.addEventListener("change", listen);
    return () => query.removeEventListener("change", listen);
  }, []);
  return isIt;
}

function useRoom(): Room {
  const [isNarrow, isPhone] = [useMedia(NARROW), useMedia(PHONE)];
  return isPhone ? "phone" : isNarrow ? "narrow" : "wide";
}

const fits = <T,>({ from = "phone" }: Column<T>, room: Room): boolean =>
  ROOMS.indexOf(from) <= ROOMS.indexOf(room);

export function SortedTable<T>(props: SortedTableProps<T>): JSX.Element {
  const { rows, isActive, onPick } = props;
  const room = useRoom();
  const columns = props.columns.filter((column) => fits(column, room));
  const below = props.columns.filter((column) => column.isBelow && !fits(column, room));
  const [order, setOrder] = useState<Order>({ by: props.by, isDescending: props.isDescending });
  const { by, isDescending } = order;
  // Also by one that there is no room for: turning a phone does not change the order.
  const sorting = props.columns.find(({ id }) => id === by);
  const list = useMemo(() => sorted(rows, sorting, isDescending), [rows, sorting, isDescending]);
  const widths = columns.map(({ width }) => width).join(" ");
  // Names give way before numbers do.
  const style = {
    gridTemplateColumns:
      room === "wide" ? widths : widths.replace(/minmax\([\d.]+rem/g, "minmax(3rem"),
  };
  const sort = (column: Column<T>): void =>
    setOrder({
      by: column.id,
      isDescending: by === column.id ? !isDescending : column.isNumber === true,
    });
  const active = isActive ? list.findIndex(isActive) : -1;
  const cellClass = ({ id, isNumber }: Column<T>): string =>
    `cell of-${id} ${isNumber ? "num" : ""}`;
  const header = (
    <div class="row head" role="row" style={style}>
      {columns.map((column) => (
        <div
          key={column.id}
          role="columnheader"
          class={cellClass(column)}
          aria-sort={by !== column.id ? "none" : isDescending ? "descending" : "ascending"}
        >
          <button type="button" onClick={() => sort(column)}>
            {column.name}
            <span aria-hidden="true">{by !== column.id ? "" : isDescending ? " ↓" : " ↑"}</span>
          </button>
        </div>
      ))}
    </div>
  );
  if (rows.length === 0) return <p class="waiting">{props.empty}</p>;
  return (
    <Virtual
      class={`table sorted-table mono ${below.length > 0 ? "is-tall" : ""}`}
      role="table"
      label={props.label}
      count={list.length}
      rowHeight={below.length > 0 ? TALL_HEIGHT : HEIGHT}
      active={active}
      header={header}
      onMove={(i) => onPick?.(list[i]!)}
      render={(i) => {
        const row = list[i]!;
        const isSelected = i === active;
        return (
          <div
            key={i}
            class={`row ${isSelected ? "is-selected" : ""} ${onPick ? "is-pickable" : ""}`}
            style={style}
            role="row"
            aria-rowindex={i + 2}
            aria-selected={isSelected}
            onClick={() => onPick?.(row)}
          >
            {columns.map((column) => (
              <div
                key={column.id}
                role="cell"
                class={cellClass(column)}
                title={column.title?.(row)}
              >
                {column.show(row)}
              </div>
            ))}
            {below.map((column) => (
              <div key={column.id} role="cell" class={`${cellClass(column)} is-below`}>
                {column.show(row)}
              </div>
            ))}
          </div>
        );
      }}
    />
  );
}
