// The part of a drawing that a canvas shows: where it is, how large, and what pointers, the wheel
// and keys do to it. The graph and the flame chart share it; the latter zooms along time only.

export interface Box {
  x: number;
  y: number;
  w: number;
  h: number;
}

/** A point of the drawing, `x`, lies at `(x - left) * scaleX` pixels from the left edge. */
export interface View {
  left: number;
  top: number;
  scaleX: number;
  scaleY: number;
}

/** Bounds of the part that is shown. */
export interface Limits {
  /** The drawing as a whole. */
  width: number;
  height: number;
  minScale: number;
  maxScale: number;
  /** Only the horizontal axis zooms. */
  isFlat?: boolean;
}

/** The size of the canvas in CSS pixels. */
export interface Room {
  width: number;
  height: number;
}

const clamp = (value: number, least: number, most: number): number =>
  Math.max(least, Math.min(most, value));

/** Some of the drawing always stays in sight: at least this many pixels. */
const KEPT = 48;

/** The nearest view that is allowed. */
export function within(view: View, limits: Limits, room: Room): View {
  const scaleX = clamp(view.scaleX, limits.minScale, limits.maxScale);
  const scaleY = limits.isFlat ? 1 : scaleX;
  const [keptX, keptY] = [KEPT / scaleX, KEPT / scaleY];
  const flatLeft = clamp(view.left, 0, Math.max(0, limits.width - room.width / scaleX));
  const flatTop = clamp(view.top, 0, Math.max(0, limits.height - room.height));
  return {
    scaleX,
    scaleY,
    left: limits.isFlat
      ? flatLeft
      : clamp(view.left, keptX - room.width / scaleX, limits.width - keptX),
    top: limits.isFlat
      ? flatTop
      : clamp(view.top, keptY - room.height / scaleY, limits.height - keptY),
  };
}

/** Zooms so that the point under `(x, y)` pixels stays where it is. */
export function zoomAt(view: View, factor: number, x: number, y: number, limits: Limits): View {
  const scaleX = clamp(view.scaleX * factor, limits.minScale, limits.maxScale);
  const scaleY = limits.isFlat ? 1 : scaleX;
  return {
    scaleX,
    scaleY,
    left: view.left + x / view.scaleX - x / scaleX,
    top: view.top + y / view.scaleY - y / scaleY,
  };
}

export function panBy(view: View, dx: number, dy: number): View {
  return { ...view, left: view.left - dx / view.scaleX, top: view.top - dy / view.scaleY };
}

/** The part of the drawing that is in sight. */
export function sightOf(view: View, room: Room): Box {
  return {
    x: view.left,
    y: view.top,
    w: room.width / view.scaleX,
    h: room.height / view.scaleY,
  };
}

export const touches = (a: Box, b: Box): boolean =>
  a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;

export const holds = ({ x, y, w, h }: Box, px: number, py: number): boolean =>
  px >= x && px <= x + w && py >= y && py <= y + h;

const MARGIN = 24;

/**
 * All of a drawing, as large as fits. If names would be too small to be read, its upper end as wide
 * as fits; if it is too wide for that, the surroundings of `first`.
 */
export function fit(limits: Limits, room: Room, readable: number, first: number): View {
  const byWidth = (room.width - 2 * MARGIN) / Math.max(1, limits.width);
  const byHeight = (room.height - 2 * MARGIN) / Math.max(1, limits.height);
  const whole = Math.min(byWidth, byHeight);
  const isWide = byWidth < readable / 4;
  const least = isWide ? 0.6 * readable : Math.min(byWidth, readable);
  const scale = clamp(Math.max(whole, least), limits.minScale, 1);
  const isWhole = scale * limits.height <= room.height;
  return {
    scaleX: scale,
    scaleY: scale,
    left: (isWide ? first : limits.width / 2) - room.width / scale / 2,
    top: isWhole ? limits.height / 2 - room.height / scale / 2 : -MARGIN / scale,
  };
}

/** The same view near enough for names, with `box` in the middle. */
export function closeUp(view: View, box: Box, room: Room, readable: number): View {
  if (view.scaleX >= 0.6 * readable) return view;
  return {
    scaleX: readable,
    scaleY: readable,
    left: box.x + box.w / 2 - room.width / readable / 2,
    top: box.y + box.h / 2 - room.height / readable / 2,
  };
}

/** Brings a box into sight: by the smallest move where it is near, else to the middle. */
export function reveal(view: View, box: Box, room: Room): View {
  const sight = sightOf(view, room);
  const [mx, my] = [(2 * MARGIN) / view.scaleX, (2 * MARGIN) / view.scaleY];
  const shift = (at: number, size: number, from: number, length: number, m: number): number => {
    const [begin, end] = [at - m, at + size + m];
    if (begin >= from && end <= from + length) return from;
    const isDistant =
      end < from - length / 4 || begin > from + length * 1.25 || end - begin > length;
    if (isDistant) return end - begin > length ? begin : (begin + end - length) / 2;
    return begin < from ? begin : end - length;
  };
  return {
    ...view,
    left: shift(box.x, box.w, sight.x, sight.w, mx),
    top: shift(box.y, box.h, sight.y, sight.h, my),
  };
}
