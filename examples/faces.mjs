// Finding faces with the lowered RFB-320 detector: pixels to its input, its outputs to boxes.

export const WIDTH = 320;
export const HEIGHT = 240;

/**
 * RGBA bytes of a 320x240 picture as the network's input.
 * @param {ArrayLike<number>} rgba
 */
export function toInput(rgba) {
  const plane = WIDTH * HEIGHT;
  const data = new Float32Array(3 * plane);
  for (let i = 0; i < plane; i++) {
    for (let c = 0; c < 3; c++) data[c * plane + i] = (rgba[4 * i + c] - 127) / 128;
  }
  return { dtype: /** @type {const} */ ("float32"), shape: [1, 3, HEIGHT, WIDTH], data };
}

/** @typedef {{ score: number, box: [number, number, number, number] }} Face */

/** Area shared by two boxes over the area they cover together. */
function overlap(/** @type {number[]} */ a, /** @type {number[]} */ b) {
  const area = (/** @type {number[]} */ r) => Math.max(0, r[2] - r[0]) * Math.max(0, r[3] - r[1]);
  const common = area([
    Math.max(a[0], b[0]),
    Math.max(a[1], b[1]),
    Math.min(a[2], b[2]),
    Math.min(a[3], b[3]),
  ]);
  return common / (area(a) + area(b) - common || 1);
}

/**
 * Boxes (x0, y0, x1, y1 in 0..1) of what is surely a face, each face once, best first.
 * @param {ArrayLike<number>} scores [1, 4420, 2]: background, face
 * @param {ArrayLike<number>} boxes [1, 4420, 4]
 * @returns {Face[]}
 */
export function toFaces(scores, boxes, threshold = 0.7, overlapMax = 0.3) {
  /** @type {Face[]} */
  const candidates = [];
  for (let i = 0; 2 * i < scores.length; i++) {
    const score = scores[2 * i + 1];
    if (score > threshold) {
      candidates.push({
        score,
        box: [boxes[4 * i], boxes[4 * i + 1], boxes[4 * i + 2], boxes[4 * i + 3]],
      });
    }
  }
  candidates.sort((a, b) => b.score - a.score);
  /** @type {Face[]} */
  const faces = [];
  for (const candidate of candidates) {
    if (faces.every((face) => overlap(face.box, candidate.box) <= overlapMax))
      faces.push(candidate);
  }
  return faces;
}
