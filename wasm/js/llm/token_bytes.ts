// Tokens that stand for bytes, in the ways in which tokenizers write them.

/** The byte that a piece such as "<0x0A>" stands for. */
export function byteOf(piece: string): number | undefined {
  const [, hex] = /^<0x([0-9A-F]{2})>$/.exec(piece) ?? [];
  return hex === undefined ? undefined : parseInt(hex, 16);
}

/** The bytes of the characters in byte-level tokens: those that print stand for themselves. */
function byteLevel(): Map<string, number> {
  const isShown = (byte: number): boolean =>
    (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
  let next = 256;
  return new Map(
    Array.from({ length: 256 }, (_, byte) => [
      String.fromCharCode(isShown(byte) ? byte : next++),
      byte,
    ]),
  );
}

let bytes: Map<string, number> | undefined;

/** The bytes of a token of byte-level tokenizers; undefined if it has other characters. */
export function byteLevelBytes(token: string): Uint8Array | undefined {
  bytes ??= byteLevel();
  const found = Array.from(token, (character) => bytes!.get(character));
  return found.every((byte) => byte !== undefined) ? Uint8Array.from(found) : undefined;
}
