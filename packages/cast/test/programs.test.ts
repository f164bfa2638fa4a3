import { readdirSync, readFileSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough, Readable, Writable } from 'node:stream';
import { type ArrivedCast, castFile, castStream, type EntrySink, receiveFiles } from '@rdmc/cast';
import { Deferred } from '@rdmc/common';
import { rejection, temporaryDirectory, until as untilTrue } from '@rdmc/testing';
import { afterEach, describe, expect, it } from 'vitest';
import { slow, someReceived, until } from './support/disturbed.js';
import { outcome, ReceiverProcess, startReceivers, temporaries } from './support/receivers.js';
import { namesIn, seededBytes, write } from './support/tree.js';

const open: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((close) => close()));
});

/** A receiver that keeps the contents of files in memory. */
async function sinkReceiver(
  options: { readonly oneFile?: boolean; readonly once?: boolean; readonly sink?: EntrySink } = {},
) {
  const files = new Map<string, Buffer>();
  const keep: EntrySink = ({ path }) => {
    const chunks: Buffer[] = [];
    return new Writable({
      write: (chunk, _encoding, done) => {
        chunks.push(chunk);
        done();
      },
      final: (done) => {
        files.set(path, Buffer.concat(chunks));
        done();
      },
    });
  };
  const receiver = await receiveFiles({ sink: keep, port: 0, ...options });
  open.push(() => receiver.close());
  return { receiver, files, to: receiver.address };
}

function* cut(bytes: Buffer, size: number): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

describe('a stream', () => {
  it('arrives as a file in directories, and at a sink, whole', async () => {
    const bytes = seededBytes(20_000_003, 5);
    const [receiver] = await startReceivers(1);
    const sink = await sinkReceiver();
    const cast = castStream(Readable.from(cut(bytes, 77_777)), {
      name: 'data.tar',
      to: [receiver!.to, sink.to],
      messageBytes: 1 << 20,
    });
    const summary = await cast.finished;
    expect(summary).toMatchObject({ files: 1, bytes: bytes.length, sentBytes: bytes.length, problems: [] });
    expect(readFileSync(join(receiver!.directory, 'data.tar')).equals(bytes)).toBe(true);
    expect(sink.files.get('data.tar')?.equals(bytes)).toBe(true);
    expect(cast.progress).toMatchObject({ phase: 'done', totalBytes: bytes.length });
  });

  it('that is empty is an empty file', async () => {
    const [receiver] = await startReceivers(1);
    const sink = await sinkReceiver({ oneFile: true });
    await castStream(Readable.from([]), { name: 'empty', to: [receiver!.to, sink.to] }).finished;
    expect(readFileSync(join(receiver!.directory, 'empty'))).toHaveLength(0);
    expect(sink.files.get('empty')).toHaveLength(0);
  });

  it('that fails ends the cast everywhere, and nothing is stored', async () => {
    const [receiver] = await startReceivers(1);
    const ended: unknown[] = [];
    const begun = new Deferred<void>();
    const sink = await sinkReceiver({
      sink: () => {
        begun.resolve();
        return new PassThrough().resume().on('error', (error) => ended.push(error));
      },
    });
    const ends = Promise.all([outcome(receiver!.receiver), outcome(sink.receiver)]);
    const input = new PassThrough();
    const cast = castStream(input, { name: 'x', to: [receiver!.to, sink.to], messageBytes: 1 << 16 });
    input.write(seededBytes(300_000, 1));
    await Promise.all([until(cast, ({ sentBytes }) => sentBytes > 0), begun.promise]);
    input.destroy(Object.assign(new Error('read failed'), { code: 'EIO' }));
    const error = await rejection(cast.finished);
    expect(error).toMatchObject({
      code: 'ERR_RDMC_UNREADABLE',
      message: 'the input failed: EIO: read failed; nothing was stored',
    });
    for (const end of await ends) expect(end).toMatchObject({ type: 'failed', code: 'ERR_RDMC_UNREADABLE' });
    expect(readdirSync(receiver!.directory)).toEqual([]);
    expect(ended).toMatchObject([{ code: 'ERR_RDMC_UNREADABLE' }]);
  });

  it('goes on to the survivors where a receiver is killed, from the first message that one of them lacks', async () => {
    const bytes = seededBytes(6_000_000, 9);
    const [receiver] = await startReceivers(1);
    const lost = await ReceiverProcess.start();
    const input = new PassThrough();
    const to = [lost.address, receiver!.to];
    const cast = castStream(input, { name: 'x', to, ...slow });
    input.write(bytes.subarray(0, 3_000_000));
    await until(cast, someReceived(1));
    lost.child.kill('SIGKILL');
    await lost.exited;
    input.end(bytes.subarray(3_000_000));
    const { receivers } = await cast.finished;
    expect(receivers.map(({ state }) => state)).toEqual(['failed', 'complete']);
    expect(readFileSync(join(receiver!.directory, 'x')).equals(bytes)).toBe(true);
  });

  it('is not read further than the receivers store it, and is ended with the cast', async () => {
    const stuck = new PassThrough({ highWaterMark: 1 });
    const sink = await sinkReceiver({ sink: () => stuck });
    let given = 0;
    async function* endless(): AsyncGenerator<Uint8Array> {
      for (;;) {
        given += 1 << 16;
        yield new Uint8Array(1 << 16);
      }
    }
    const input = Readable.from(endless());
    const cast = castStream(input, { name: 'x', to: [sink.to], messageBytes: 1 << 16 });
    await until(cast, ({ receivers }) => receivers[0]!.receivedBytes > 0);
    cast.abort();
    expect((await rejection(cast.finished)).code).toBe('ERR_RDMC_ABORTED');
    // Three messages at each end, those that may be kept, and one that is read ahead.
    expect(given).toBeLessThan(64 << 16);
    expect(input.destroyed).toBe(true);
  });

  it.each([
    ['without a name', { name: '' }, 'ERR_RDMC_INVALID_OPTION'],
    ['with a path as name', { name: 'a/b' }, 'ERR_RDMC_UNSAFE_PATH'],
    ['with the name ..', { name: '..' }, 'ERR_RDMC_UNSAFE_PATH'],
    ['with retries', { name: 'x', retries: 1 }, 'ERR_RDMC_INVALID_OPTION'],
    ['with filters', { name: 'x', filters: [] }, 'ERR_RDMC_INVALID_OPTION'],
    ['with whole files', { name: 'x', wholeFiles: true }, 'ERR_RDMC_INVALID_OPTION'],
    ['with an unknown option', { name: 'x', nmae: 1 }, 'ERR_RDMC_UNKNOWN_OPTION'],
    ['with a mode of set-user-id', { name: 'x', mode: 0o4755 }, 'ERR_RDMC_INVALID_OPTION'],
  ])('%s is refused at once', (_, options, code) => {
    const start = () => castStream(Readable.from([]), { to: [{ host: '127.0.0.1' }], ...options });
    expect(start).toThrow(expect.objectContaining({ code }));
  });

  it('of something else than bytes is refused', async () => {
    const [receiver] = await startReceivers(1);
    const numbers = Readable.from([1, 2]) as unknown as AsyncIterable<Uint8Array>;
    const cast = castStream(numbers, { name: 'x', to: [receiver!.to] });
    expect((await rejection(cast.finished)).code).toBe('ERR_RDMC_UNREADABLE');
    expect(() => castStream(5 as never, { name: 'x', to: [receiver!.to] })).toThrow(/async iterable/);
  });
});

describe('a receiver with a sink', () => {
  it('gets files of a directory one after the other', async () => {
    const from = temporaryDirectory();
    write(from, 'root/a', seededBytes(100_000, 1));
    write(from, 'root/sub/b', 'text');
    const { files, to } = await sinkReceiver();
    const summary = await castFile(join(from, 'root'), { to: [to] }).finished;
    expect(summary).toMatchObject({ files: 2, problems: [] });
    expect([...files.keys()]).toEqual(['root/a', 'root/sub/b']);
    expect(files.get('root/a')!.equals(seededBytes(100_000, 1))).toBe(true);
  });

  it('for one file refuses others, with their numbers', async () => {
    const from = temporaryDirectory();
    write(from, 'root/a', 'a');
    const { files, to } = await sinkReceiver({ oneFile: true });
    const error = await rejection(castFile(join(from, 'root'), { to: [to] }).finished);
    expect(error).toMatchObject({ code: 'ERR_RDMC_SEVERAL_FILES' });
    expect(error.message).toContain('1 files, 1 directories and 0 links');
    await castFile(join(from, 'root/a'), { to: [to] }).finished;
    expect([...files.keys()]).toEqual(['a']);
  });

  it('gets large files whole where another receiver has older ones', async () => {
    const from = temporaryDirectory();
    const image = seededBytes(12_000_000, 1);
    write(from, 'root/image', image);
    write(from, 'root/new', 'new');
    const [receiver] = await startReceivers(1);
    const older = Buffer.from(image);
    older[0]! ^= 1;
    utimesSync(write(receiver!.directory, 'root/image', older), 1, 1);
    const { files, to } = await sinkReceiver();
    const { receivers } = await castFile(join(from, 'root'), { to: [receiver!.to, to] }).finished;
    expect(receivers).toMatchObject([{ state: 'complete' }, { state: 'complete', files: 2 }]);
    expect(files.get('root/image')!.equals(image)).toBe(true);
    expect(readFileSync(join(receiver!.directory, 'root/image')).equals(image)).toBe(true);
  });

  it('that takes one cast refuses a second one meanwhile: their bytes would be mixed', async () => {
    const from = temporaryDirectory();
    write(from, 'file', seededBytes(3_000_000, 1));
    const given: Buffer[] = [];
    const stuck = new PassThrough({ highWaterMark: 1 });
    const sink = await sinkReceiver({ once: true, sink: () => stuck });
    const first = castFile(join(from, 'file'), { to: [sink.to] });
    await until(first, ({ receivers }) => receivers[0]!.receivedBytes > 0);
    const second = castFile(join(from, 'file'), { to: [sink.to] });
    expect((await rejection(second.finished)).code).toBe('ERR_RDMC_BUSY');
    stuck.on('data', (chunk: Buffer) => given.push(chunk));
    expect(await first.finished).toMatchObject({ receivers: [{ state: 'complete' }] });
    expect(Buffer.concat(given).equals(seededBytes(3_000_000, 1))).toBe(true);
  });

  it('that fails is reported, and the others get everything', async () => {
    const from = temporaryDirectory();
    write(from, 'file', seededBytes(1_000_000, 1));
    const [receiver] = await startReceivers(1);
    const broken = await sinkReceiver({
      sink: () => new Writable({ write: (_chunk, _encoding, done) => done(new Error('disk on fire')) }),
    });
    const { receivers } = await castFile(join(from, 'file'), { to: [receiver!.to, broken.to] }).finished;
    expect(receivers[0]).toMatchObject({ state: 'complete' });
    expect(receivers[1]).toMatchObject({ state: 'failed', code: 'ERR_RDMC_WRITE_FAILED' });
    expect(receivers[1]!.message).toContain('the sink of file failed: disk on fire');
  });

  it.each([
    ['a directory too', { directory: '/tmp', sink: () => new PassThrough() }],
    ['neither', {}],
    ['no function', { sink: 'stdout' as never }],
    ['a hook that is no function', { directory: '/tmp', afterCast: true as never }],
  ])('is refused with %s', async (_, options) => {
    expect((await rejection(receiveFiles({ port: 0, ...options }))).code).toBe('ERR_RDMC_INVALID_OPTION');
  });
});

describe('after a cast', () => {
  async function hooked(afterCast: (cast: ArrivedCast, signal: AbortSignal) => Promise<void>) {
    const [receiver] = await startReceivers(1, { afterCast });
    const from = temporaryDirectory();
    write(from, 'one', 'first');
    write(from, 'two', 'second');
    return { from, ...receiver! };
  }

  it('the application runs what it wants, when all names are there, and the sender waits', async () => {
    const seen: [ArrivedCast, string[]][] = [];
    let isDone = false;
    const { from, to, directory } = await hooked(async (cast) => {
      seen.push([cast, namesIn(directory)]);
      await new Promise(setImmediate);
      isDone = true;
    });
    const paths = [join(from, 'one'), join(from, 'two')];
    await Promise.all(paths.map((path) => castFile(path, { to: [to] }).finished));
    expect(isDone).toBe(true);
    const names = seen.map(([cast]) => cast.names.map((name) => Buffer.from(name).toString()));
    expect(names.flat().sort()).toEqual(['one', 'two']);
    for (const [cast, present] of seen) {
      expect(present).toContain(Buffer.from(cast.names[0]!).toString());
      expect(cast).toMatchObject({ files: 1, unchangedFiles: 0 });
    }
    await castFile(paths[0]!, { to: [to] }).finished;
    expect(seen.at(-1)![0]).toMatchObject({ files: 0, unchangedFiles: 1 });
    expect(Buffer.from(seen.at(-1)![0].names[0]!).toString()).toBe('one');
  });

  it('its failure is the answer to the sender; the files stay', async () => {
    const failure = Object.assign(new Error('the model does not load'), { code: 'ERR_RDMC_COMMAND_FAILED' });
    const { from, to, directory } = await hooked(() => Promise.reject(failure));
    const error = await rejection(castFile(join(from, 'one'), { to: [to] }).finished);
    expect(error).toMatchObject({ code: 'ERR_RDMC_COMMAND_FAILED' });
    expect(error.message).toContain('the model does not load');
    await untilTrue(() => temporaries(directory).length === 0);
    expect(namesIn(directory)).toEqual(['one']);
  });

  it('nothing runs after a dry run', async () => {
    let calls = 0;
    const { from, to } = await hooked(async () => {
      calls += 1;
    });
    await castFile(join(from, 'one'), { to: [to], dryRun: true }).finished;
    expect(calls).toBe(0);
  });

  it('its signal is aborted when the sender gives up', async () => {
    let aborted: () => void = () => {};
    const wasAborted = new Promise<void>((resolve) => {
      aborted = resolve;
    });
    let began: () => void = () => {};
    const hasBegun = new Promise<void>((resolve) => {
      began = resolve;
    });
    const { from, to } = await hooked(async (_cast, signal) => {
      began();
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
      aborted();
    });
    const cast = castFile(join(from, 'one'), { to: [to] });
    await hasBegun;
    cast.abort();
    await wasAborted;
    expect((await rejection(cast.finished)).code).toBe('ERR_RDMC_ABORTED');
  });
});
