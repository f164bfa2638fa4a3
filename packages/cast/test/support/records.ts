import fc from 'fast-check';
import { CHUNK_BYTES } from '../../src/constants.js';
import { MessageEncoder } from '../../src/stream/message-encoder.js';
import type { StreamRecord } from '../../src/stream/records.js';

const index = fc.integer({ min: 0, max: 0xffff_ffff });
const mode = fc.integer({ min: 0, max: 0o777 });
const bytes53 = fc.maxSafeNat();
const time = fc.record({
  seconds: fc.integer({ min: -(2 ** 40), max: 2 ** 40 }),
  nanoseconds: fc.integer({ min: 0, max: 999_999_999 }),
});
/** Raw bytes without '/' and zero. */
const name = fc
  .uint8Array({ minLength: 1, maxLength: 40 })
  .map((each) => Buffer.from(each.map((byte) => (byte === 0 || byte === 0x2f ? 0x78 : byte))))
  .filter((each) => !['.', '..'].includes(each.toString('latin1')));
export const path = fc
  .array(name, { minLength: 1, maxLength: 5 })
  .map((names) => Buffer.from(names.map((each) => each.toString('latin1')).join('/'), 'latin1'));

export const record: fc.Arbitrary<StreamRecord> = fc.oneof(
  fc.record({ type: fc.constant('directory' as const), index, mode, time, path }),
  fc.record({ type: fc.constant('fileBegin' as const), index, mode, time, size: bytes53, path }),
  fc.record({
    type: fc.constant('data' as const),
    index,
    offset: bytes53,
    data: fc.uint8Array({ minLength: 1, maxLength: 300 }).map((data) => Buffer.from(data)),
  }),
  fc.record({
    type: fc.constant('packed' as const),
    index,
    offset: bytes53,
    length: fc.integer({ min: 301, max: CHUNK_BYTES }),
    codec: fc.constantFrom('zstd' as const, 'deflate' as const),
    data: fc.uint8Array({ maxLength: 300 }).map((data) => Buffer.from(data)),
  }),
  fc.record({ type: fc.constant('hole' as const), index, offset: bytes53, length: bytes53 }),
  fc.record({ type: fc.constant('keep' as const), index, offset: bytes53, length: bytes53 }),
  fc.record({
    type: fc.constant('fileEnd' as const),
    index,
    status: fc.constantFrom(0 as const, 1 as const, 2 as const),
    digest: fc.uint8Array({ minLength: 32, maxLength: 32 }).map((digest) => Buffer.from(digest)),
  }),
  fc.record({ type: fc.constant('symbolicLink' as const), index, time, path, target: path }),
  fc.record({ type: fc.constant('hardLink' as const), index, targetIndex: index, path, targetPath: path }),
  fc.record({
    type: fc.constant('streamEnd' as const),
    files: index,
    directories: index,
    symbolicLinks: index,
    hardLinks: index,
    bytes: bytes53,
  }),
  fc.record({
    type: fc.constant('check' as const),
    number: index,
    digest: fc.uint8Array({ minLength: 32, maxLength: 32 }).map((digest) => Buffer.from(digest)),
  }),
);

/** One message of the records. */
export function encode(records: readonly StreamRecord[], sequence: number): Buffer {
  const data = records.reduce((sum, each) => sum + ('data' in each ? each.data.length : 0), 0);
  const target = Buffer.alloc((1 << 20) + data);
  const encoder = new MessageEncoder(target);
  for (const each of records) {
    if (!put(encoder, target, each)) throw new Error('the records do not fit');
  }
  return target.subarray(0, encoder.finish(sequence));
}

function put(encoder: MessageEncoder, target: Buffer, each: StreamRecord): boolean {
  if (each.type === 'data') {
    each.data.copy(target, encoder.dataPlace());
    encoder.data(each.index, each.offset, each.data.length);
    return true;
  }
  if (each.type === 'packed') {
    each.data.copy(target, encoder.dataPlace());
    const { codec, index, offset, length, data } = each;
    encoder.packed(codec, index, offset, { length, packedBytes: data.length });
    return true;
  }
  if (each.type === 'directory') return encoder.directory(each);
  if (each.type === 'fileBegin') return encoder.fileBegin(each);
  if (each.type === 'hole') return encoder.hole(each);
  if (each.type === 'keep') return encoder.keep(each);
  if (each.type === 'fileEnd') return encoder.fileEnd(each);
  if (each.type === 'symbolicLink') return encoder.symbolicLink(each);
  if (each.type === 'hardLink') return encoder.hardLink(each);
  if (each.type === 'check') {
    encoder.check(each.number, each.digest);
    return true;
  }
  return encoder.streamEnd(each);
}
