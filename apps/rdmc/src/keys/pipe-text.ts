import { createReadStream } from 'node:fs';
import { Socket } from 'node:net';
import { addAbortSignal, type Readable } from 'node:stream';
import { isatty, ReadStream } from 'node:tty';
import type { CliError } from '../errors.js';

/** A stream that waits in the event loop. A read in the thread pool would wait where no signal can end it. */
function streamOf(file: number, isPipe: boolean): Readable {
  if (isPipe) return new Socket({ fd: file, readable: true, writable: false });
  return isatty(file) ? new ReadStream(file) : createReadStream('', { fd: file });
}

/**
 * The text of a pipe, a terminal or another device, up to its end. A pipe that does not have a writer yet is waited for.
 * @param file opened with O_NONBLOCK; closed in any case
 * @throws the error of `tooLong`; the reason of the signal
 */
export async function pipeText(
  file: number,
  isPipe: boolean,
  { mostBytes, tooLong }: { mostBytes: number; tooLong: () => CliError },
  signal?: AbortSignal,
): Promise<string> {
  const stream = streamOf(file, isPipe);
  if (signal) addAbortSignal(signal, stream);
  const chunks: Buffer[] = [];
  let byteLength = 0;
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      byteLength += chunk.byteLength;
      if (byteLength > mostBytes) throw tooLong();
    }
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  }
  return Buffer.concat(chunks).toString('utf8');
}
