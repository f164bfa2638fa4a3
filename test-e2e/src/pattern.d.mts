type Piece = (at: number, byteLength: number) => Uint8Array;

export function writePattern(
  seed: number,
  byteLength: number,
  put: (at: number, bytes: Uint8Array) => void,
): Promise<void>;
export function findDifference(seed: number, byteLength: number, piece: Piece): Promise<number>;
export function sha256Of(byteLength: number, piece: Piece): Promise<string>;
export function sha256OfPattern(seed: number, byteLength: number): string;
