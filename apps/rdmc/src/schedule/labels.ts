const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ';

/** What blocks are called in a drawing: letters as long as they last, else numbers. */
export function blockLabel(block: number, blocks: number): string {
  return blocks <= LETTERS.length ? LETTERS[block]! : String(block);
}
