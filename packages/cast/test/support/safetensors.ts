import { join } from 'node:path';
import { temporaryDirectory } from '@rdmc/testing';
import { PREFIX_BYTES } from '../../src/memory/safetensors.js';
import { seededBytes, write } from './tree.js';

/** A tensor of a file that is made for a test. */
export interface MadeTensor {
  readonly name: string;
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly bytes: Uint8Array;
}

/** Options of a cast that sends `lateTensorFile` in 20 seconds. */
export const LATE = { messageBytes: 1 << 16, bandwidthLimit: 500_000 };

/** A .safetensors file for casts that end in the middle: tensor 'a' is in the first message, the end of 'b' comes last. */
export function lateTensorFile(): Buffer {
  const tensor = (name: string, byteLength: number): MadeTensor => {
    return { name, dtype: 'U8', shape: [byteLength], bytes: Buffer.alloc(byteLength, name) };
  };
  return safetensorsFile([tensor('a', 10_000), tensor('b', 10_000_000)]);
}

/** A .safetensors file with a header of this text. */
export function withHeader(header: string | Uint8Array, data: Uint8Array = Buffer.alloc(0)): Buffer {
  const json = Buffer.from(header);
  const prefix = Buffer.alloc(PREFIX_BYTES);
  prefix.writeBigUInt64LE(BigInt(json.length));
  return Buffer.concat([prefix, json, data]);
}

/** A .safetensors file of these tensors, as the library writes it: the header is filled up with spaces. */
export function safetensorsFile(
  tensors: readonly MadeTensor[],
  metadata?: Readonly<Record<string, string>>,
): Buffer {
  let at = 0;
  const entries = tensors.map(({ name, dtype, shape, bytes }): [string, unknown] => {
    const data_offsets = [at, at + bytes.length];
    at += bytes.length;
    return [name, { dtype, shape, data_offsets }];
  });
  const fields = metadata ? [['__metadata__', metadata] as const, ...entries] : entries;
  const json = JSON.stringify(Object.fromEntries(fields));
  const padded = json.padEnd(
    Math.ceil(Buffer.byteLength(json) / 8) * 8 - Buffer.byteLength(json) + json.length,
  );
  return withHeader(padded, Buffer.concat(tensors.map(({ bytes }) => bytes)));
}

/** A .safetensors file of tensors of one length: that of the name with number n has the bytes of seed n. */
export function seededModel(names: readonly string[], tensorBytes: number): Buffer {
  return safetensorsFile(
    names.map((name, seed) => ({
      ...{ name, dtype: 'U8', shape: [tensorBytes], bytes: seededBytes(tensorBytes, seed) },
    })),
  );
}

/** Path of a new directory `root`, with a small file and the model `m.safetensors`. */
export function directoryWith(model: Buffer): string {
  const from = temporaryDirectory();
  write(from, 'root/config.json', '{}');
  write(from, 'root/m.safetensors', model);
  return join(from, 'root');
}
