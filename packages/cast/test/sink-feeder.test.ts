import { PassThrough, Writable } from 'node:stream';
import { rejection } from '@rdmc/testing';
import { afterEach, describe, expect, it } from 'vitest';
import type { EntrySink } from '../src/entry-sink.js';
import { CastError } from '../src/errors.js';
import { SinkFeeder } from '../src/receiver/sink-feeder.js';
import type { SinkOrder } from '../src/writer/sink-orders.js';
import { SinkPort } from '../src/writer/sink-port.js';

const open: (() => void)[] = [];
afterEach(() => {
  for (const close of open.splice(0)) close();
});

/** Both ends of a port, in one thread. */
function connect(sink: EntrySink) {
  const failures: CastError[] = [];
  const facts = { castId: 'c', from: 'host (10.0.0.1)' };
  const feeder = new SinkFeeder(sink, facts, (error) => failures.push(error));
  const port = new SinkPort(feeder.workerPort);
  open.push(() => {
    feeder.close(undefined);
    port.close();
  });
  return { feeder, port, failures };
}

const begin: SinkOrder = {
  type: 'begin',
  index: 0,
  path: new Uint8Array(Buffer.from('dir/file')),
  size: 5,
  mode: 0o644,
  time: { seconds: 1_000, nanoseconds: 5_000_000 },
};
const data = (text: string): SinkOrder => ({ type: 'data', bytes: new Uint8Array(Buffer.from(text)) });

describe('a sink', () => {
  it('is made for the entry, gets its bytes, and is ended; then comes the next', async () => {
    const seen: unknown[] = [];
    const texts: string[] = [];
    const { port, failures } = connect((entry) => {
      seen.push(entry);
      const chunks: Buffer[] = [];
      return new Writable({
        write: (chunk, _encoding, done) => {
          chunks.push(chunk);
          done();
        },
        final: (done) => {
          texts.push(Buffer.concat(chunks).toString());
          done();
        },
      });
    });
    for (const text of ['one', 'two']) {
      await port.order(begin);
      await port.order(data(text));
      await port.order({ type: 'end' });
      expect(texts.at(-1)).toBe(text);
    }
    expect(seen).toHaveLength(2);
    expect(seen[0]).toEqual({
      ...{ castId: 'c', from: 'host (10.0.0.1)', path: 'dir/file', size: 5, mode: 0o644 },
      pathBytes: new Uint8Array(Buffer.from('dir/file')),
      modified: new Date(1_000_005),
    });
    expect(failures).toEqual([]);
  });

  it('that is full gets no more until it has drained', async () => {
    const stream = new PassThrough({ highWaterMark: 4 });
    const { port } = connect(() => stream);
    await port.order(begin);
    let taken = false;
    const order = port.order(data('12345')).then(() => {
      taken = true;
    });
    // An answer would have come before those of orders to another sink.
    const other = connect(() => new PassThrough().resume());
    for (const each of [begin, data('1'), data('2'), data('3')]) await other.port.order(each);
    expect(taken).toBe(false);
    stream.resume();
    await order;
    expect(taken).toBe(true);
  });

  it.each<[string, EntrySink, RegExp]>([
    [
      'throws when it is made',
      () => {
        throw new Error('no room');
      },
      /the sink of dir\/file failed: no room|the sink of a file failed: no room/,
    ],
    ['is rejected when it is made', () => Promise.reject(new Error('no upload')), /failed: no upload/],
    ['is not a stream', () => ({}) as Writable, /needed a Writable/],
    [
      'fails in a write',
      () => new Writable({ write: (_chunk, _encoding, done) => done(new Error('disk on fire')) }),
      /the sink of dir\/file failed: disk on fire/,
    ],
    [
      'fails at its end',
      () =>
        new Writable({
          write: (_chunk, _encoding, done) => done(),
          final: (done) => done(Object.assign(new Error('commit refused'), { code: 'ERR_UPLOAD' })),
        }),
      /commit refused \(ERR_UPLOAD\)/,
    ],
    [
      'closes early',
      () => {
        const stream = new PassThrough();
        stream.destroy();
        return stream;
      },
      /closed before the end/,
    ],
  ])('that %s fails the cast', async (_, sink, message) => {
    const { port } = connect(sink);
    const all = async (): Promise<void> => {
      for (const order of [begin, data('12345'), { type: 'end' } as const]) await port.order(order);
    };
    const error = await rejection(all());
    expect(error).toBeInstanceOf(CastError);
    expect(error.message).toMatch(message);
    expect((await rejection(port.order(begin))).message).toBe(error.message);
  });

  it('that fails between two writes fails the cast at once', async () => {
    const stream = new PassThrough();
    const { port, failures } = connect(() => stream);
    await port.order(begin);
    stream.destroy(Object.assign(new Error('broken'), { code: 'EPIPE' }));
    await new Promise((resolve) => stream.once('close', resolve));
    expect(failures).toMatchObject([
      { code: 'ERR_RDMC_WRITE_FAILED', message: expect.stringContaining('EPIPE') },
    ]);
  });

  it('is destroyed with the reason when the cast ends early, also while it waits', async () => {
    const stream = new PassThrough({ highWaterMark: 1 });
    const { port, feeder, failures } = connect(() => stream);
    await port.order(begin);
    const pending = rejection(port.order(data('12345')));
    await new Promise(setImmediate);
    feeder.close(new CastError('ERR_RDMC_SENDER_LOST', 'gone'));
    expect((await pending).code).toMatch(/ERR_RDMC_(ABORTED|SENDER_LOST)/);
    expect(stream.errored).toMatchObject({ code: 'ERR_RDMC_SENDER_LOST' });
    expect(failures).toEqual([]);
  });

  it('is destroyed where its file is given up', async () => {
    const stream = new PassThrough();
    const { port } = connect(() => stream);
    await port.order(begin);
    await port.order({ type: 'discard', code: 'ERR_RDMC_FILE_CHANGED', message: 'it changed' });
    expect(stream.errored).toMatchObject({ code: 'ERR_RDMC_FILE_CHANGED' });
  });
});
