import type { Tensor } from './resnet152.js';

/** A part of one tensor that is sent as one message: values `first` to `first + length` of all parameters. */
export interface Block {
  /** Number of its first value, of all parameters of the network. */
  readonly first: number;
  /** How many values it has. */
  readonly length: number;
}

/** Cuts tensors into blocks of at most `blockBytes`; a block never spans two tensors. */
export function blocksOf(tensors: readonly Tensor[], blockBytes: number): Block[] {
  const most = blockBytes / Float32Array.BYTES_PER_ELEMENT;
  const blocks: Block[] = [];
  let first = 0;
  for (const { length } of tensors) {
    for (let at = 0; at < length; at += most) {
      blocks.push({ first: first + at, length: Math.min(most, length - at) });
    }
    first += length;
  }
  return blocks;
}
