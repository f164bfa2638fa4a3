import { REQUEST_HEADER_BYTES, writeRequestHeader } from '../../src/cluster/peer-frames.js';
import type { RespVersion } from '../../src/resp/writer.js';

export function requestHeader(id: number, version: RespVersion, length: number): Buffer {
  const bytes = Buffer.alloc(REQUEST_HEADER_BYTES);
  writeRequestHeader(bytes, 0, id, version, length);
  return bytes;
}
