import { randomUUID } from 'node:crypto';
import { type Checksum, newChecksum } from '../../src/checksum.js';
import type { Codec } from '../../src/compression/codec.js';
import type { ReadHook } from '../../src/reader/file-source.js';
import { resolveRoots } from '../../src/reader/roots.js';
import { StreamReader } from '../../src/reader/stream-reader.js';
import { Survey } from '../../src/reader/survey.js';
import type { StoredReport } from '../../src/writer/stored-report.js';
import { StreamWriter } from '../../src/writer/stream-writer.js';

export const MESSAGE_BYTES = 64 * 1024;
/** The checksum of all local casts. */
export const CHECKSUM: Checksum = newChecksum('gmac');

/** A reader of the paths. */
export function readerOf(paths: readonly (string | Buffer)[], hook?: ReadHook, codec?: Codec): StreamReader {
  return new StreamReader(
    new Survey(resolveRoots(paths.map((path) => Buffer.from(path as string)))).entries,
    CHECKSUM,
    { hook, codec },
  );
}

/** All messages of a stream. */
export function allMessages(reader: StreamReader, messageBytes = MESSAGE_BYTES): Buffer[] {
  const messages: Buffer[] = [];
  for (;;) {
    const buffer = Buffer.alloc(messageBytes);
    const { bytes, last } = reader.fill(messages.length, buffer);
    messages.push(buffer.subarray(0, bytes));
    if (last) break;
  }
  reader.close();
  return messages;
}

/** Stores messages in a directory, as a receiver does. */
export function store(messages: readonly Buffer[], directory: string): StoredReport {
  const writer = new StreamWriter(directory, randomUUID(), CHECKSUM);
  try {
    messages.forEach((message, sequence) => {
      writer.store(sequence, message);
      // The memory of a message is reused for another one.
      message.fill(0xa5);
    });
    return writer.finish(messages.length);
  } finally {
    writer.close();
  }
}
