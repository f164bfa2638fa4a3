import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { usageError } from '../errors.js';

const MOST_LINE_BYTES = 64 * 1024;

/**
 * Reads the first line of a stream, or all of it where it ends before a line feed. Data after the line is dropped; the
 * end of the stream can be watched afterwards.
 * @throws CliError ERR_RDMC_USAGE for a line above 64 KiB
 */
export function firstLine(stream: Readable, signal?: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    const decoder = new StringDecoder('utf8');
    let text = '';
    const settle = (act: () => void): void => {
      stream.off('data', onData).off('end', onEnd).off('error', onError);
      signal?.removeEventListener('abort', onAbort);
      stream.pause();
      // A paused pipe keeps the process alive: without this, a command that fails now would not end.
      (stream as Partial<Socket>).unref?.();
      act();
    };
    const onData = (chunk: Buffer): void => {
      text += decoder.write(chunk);
      const end = text.indexOf('\n');
      if (end >= 0) settle(() => resolve(text.slice(0, end)));
      else if (text.length > MOST_LINE_BYTES) {
        settle(() =>
          reject(usageError(`standard input: no line feed in the first ${MOST_LINE_BYTES} bytes`)),
        );
      }
    };
    const onEnd = (): void => settle(() => resolve(text));
    const onError = (error: Error): void => settle(() => reject(error));
    const onAbort = (): void => settle(() => reject(signal?.reason));
    if (signal?.aborted) return reject(signal.reason);
    signal?.addEventListener('abort', onAbort);
    stream.on('data', onData).on('end', onEnd).on('error', onError);
  });
}

/** Calls back once when a stream has ended or failed. Does not change whether the stream keeps the process alive. */
export function onEnd(stream: Readable, listener: () => void): () => void {
  let told = false;
  const tell = (): void => {
    if (told) return;
    told = true;
    listener();
  };
  const drop = (): void => {};
  stream.on('data', drop).once('end', tell).once('error', tell).once('close', tell);
  stream.resume();
  if (stream.readableEnded || stream.destroyed) queueMicrotask(tell);
  return () => {
    told = true;
    stream.off('data', drop).off('end', tell).off('close', tell);
    stream.pause();
  };
}
