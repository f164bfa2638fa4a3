import { protocolError } from './errors.js';

export function encodeJson(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value));
}

export function decodeJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch (cause) {
    throw protocolError(`a body of ${bytes.length} bytes is not JSON: ${(cause as Error).message}`);
  }
}
