const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ';

/** The label of a block in a drawing: letters for up to 26 blocks, else numbers. */
export function blockLabel(block: number, blocks: number): string {
  return blocks <= LETTERS.length ? LETTERS[block]! : String(block);
}
