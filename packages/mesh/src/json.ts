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

export function decodeObject(bytes: Buffer): Record<string, unknown> {
  const value = decodeJson(bytes);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw protocolError('a body is not a JSON object');
  }
  return value as Record<string, unknown>;
}
