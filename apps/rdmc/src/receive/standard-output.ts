import { Writable } from 'node:stream';
import type { EntrySink } from '@rdmc/cast';

/**
 * A sink that writes to standard output, which stays open: other code may write there after it. A write is done when the
 * reader of a pipe has taken it, or the pipe has room: this is the backpressure on the cast.
 */
export function standardOutputSink(output: Pick<Writable, 'write'> = process.stdout): EntrySink {
  return () => new Writable({ write: (chunk: Buffer, _encoding, done) => void output.write(chunk, done) });
}
