/** Fields that the frames of a cast and those of a pull have in common. */
import { pattern, text, whole } from '@rdmc/common/shapes';
import { MAX_CONTROL_FRAME_BYTES, MAX_ENTRIES, MAX_TIMER_MS } from '../constants.js';

/** Most characters of a text for people. */
export const MAX_TEXT = 4096;

export const count = whole(0, MAX_ENTRIES);
export const bytes = whole(0, Number.MAX_SAFE_INTEGER);
export const milliseconds = whole(1, MAX_TIMER_MS);
export const words = text(MAX_TEXT);
export const code = pattern(/^[A-Z][A-Z0-9_]{0,63}$/);
export const failure = { code, message: words };
/** A secret, a key or a hash of 32 bytes, hexadecimal. */
export const hash = pattern(/^[0-9a-f]{64}$/);
/** Bytes in base64. */
export const packed = text(MAX_CONTROL_FRAME_BYTES);
/** What a receiver or a fetcher has got. Messages are those of all runs. */
export const reception = {
  /** Complete messages, and bytes of incomplete ones. */
  receivedMessages: count,
  partialBytes: bytes,
  storedMessages: count,
  /** How long the writer has made no progress with its messages; 0 when it has none. */
  writerBusyMs: whole(0),
};
