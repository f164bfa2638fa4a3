type Piece = (at: number, lengthBytes: number) => Uint8Array;

export function writePattern(
  seed: number,
  sizeBytes: number,
  put: (at: number, bytes: Uint8Array) => void,
): Promise<void>;
export function findDifference(seed: number, sizeBytes: number, piece: Piece): Promise<number>;
export function sha256Of(sizeBytes: number, piece: Piece): Promise<string>;
export function sha256OfPattern(seed: number, sizeBytes: number): string;
