/** Ones in each byte. */
const ONES = Uint8Array.from({ length: 256 }, (_, byte) => {
  let ones = 0;
  for (let rest = byte; rest > 0; rest >>= 1) ones += rest & 1;
  return ones;
});

/** Some blocks of one file: a bit for each, the lowest bit of a byte first. Bits after the last block are zero. */
export class BlockSet {
  constructor(
    /** Number of blocks of the file. */
    readonly blocks: number,
    readonly bits: Uint8Array = new Uint8Array(Math.ceil(blocks / 8)),
  ) {}

  static all(blocks: number): BlockSet {
    const set = new BlockSet(blocks);
    set.bits.fill(0xff);
    const used = blocks % 8;
    if (used > 0) set.bits[set.bits.length - 1] = (1 << used) - 1;
    return set;
  }

  /** How many blocks it has. */
  get count(): number {
    let count = 0;
    for (const byte of this.bits) count += ONES[byte]!;
    return count;
  }

  get isAll(): boolean {
    return this.count === this.blocks;
  }

  has(block: number): boolean {
    return ((this.bits[block >> 3]! >> (block & 7)) & 1) === 1;
  }

  add(block: number): void {
    this.bits[block >> 3]! |= 1 << (block & 7);
  }

  delete(block: number): void {
    this.bits[block >> 3]! &= ~(1 << (block & 7));
  }

  /** The blocks of both sets; of the same file. */
  union(other: BlockSet): BlockSet {
    return new BlockSet(
      this.blocks,
      this.bits.map((byte, at) => byte | other.bits[at]!),
    );
  }

  /** The blocks that both sets have; of the same file. */
  intersection(other: BlockSet): BlockSet {
    return new BlockSet(
      this.blocks,
      this.bits.map((byte, at) => byte & other.bits[at]!),
    );
  }

  /** Whether it has all blocks of a range of bytes. */
  covers(blockBytes: number, offset: number, length: number): boolean {
    const end = Math.ceil((offset + length) / blockBytes);
    if (end > this.blocks) return false;
    for (let block = Math.floor(offset / blockBytes); block < end; block = this.runEnd(block)) {
      if (!this.has(block)) return false;
    }
    return true;
  }

  /** The first block after `block` that differs from it: one is in the set, the other is not. */
  runEnd(block: number): number {
    const isIn = this.has(block);
    const same = isIn ? 0xff : 0;
    let end = block + 1;
    while (end < this.blocks) {
      if ((end & 7) === 0 && this.bits[end >> 3] === same && end + 8 <= this.blocks) end += 8;
      else if (this.has(end) === isIn) end += 1;
      else break;
    }
    return end;
  }
}
