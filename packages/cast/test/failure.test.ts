import { execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, chmodSync, mkdirSync, truncateSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { castFile, castFiles, receiveFiles } from '@rdmc/cast';
import { RdmcNode } from '@rdmc/group';
import { encodeFrame } from '@rdmc/mesh/sockets';
import { mayMount, rejection, smallDisk, temporaryDirectory } from '@rdmc/testing';
import { VerbsError } from '@rdmc/verbs';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { SENDER_ID } from '../src/constants.js';
import { slow, someReceived, sourceTree, until } from './support/disturbed.js';
import { fakeReceiver } from './support/fake-receiver.js';
import { outcome, ReceiverProcess, startReceivers, temporaries, visible } from './support/receivers.js';
import { expectSameTree, namesIn, write } from './support/tree.js';

const KEY = 'a key of more than sixteen bytes';
/** The environment of a receiver of another user. */
const shared = { key: KEY, host: '127.0.0.1' };
const cleanUp: (() => void)[] = [];
afterEach(() => {
  for (const each of cleanUp.splice(0)) each();
});

describe('an abort', () => {
  it('of the sender ends every receiver, leaves nothing, and a daemon still listens', async () => {
    const from = sourceTree();
    const receivers = await startReceivers(2);
    const to = receivers.map(({ to }) => to);
    const abort = new AbortController();
    const cast = castFile(join(from, 'root'), { to, signal: abort.signal, ...slow });
    await until(cast, someReceived(1));
    const ends = receivers.map(({ receiver }) => outcome(receiver));
    const cause = new Error('enough');
    abort.abort(cause);
    expect(await rejection(cast.finished)).toMatchObject({
      name: 'AbortError',
      code: 'ERR_RDMC_ABORTED',
      cause,
    });
    for (const end of await Promise.all(ends))
      expect(end).toMatchObject({ type: 'failed', code: 'ERR_RDMC_ABORTED' });
    for (const { directory } of receivers) expect(temporaries(directory)).toEqual([]);
    await castFile(join(from, 'root'), { to }).finished;
    for (const { directory } of receivers) {
      expectSameTree(directory, from);
      expect(temporaries(directory)).toEqual([]);
    }
  });

  it.each(['abort()', 'await using'])('by %s ends every receiver, and leaves nothing', async (how) => {
    const from = sourceTree();
    const receivers = await startReceivers(2);
    const to = receivers.map(({ to }) => to);
    const cast = castFile(join(from, 'root'), { to, ...slow });
    await until(cast, someReceived(1));
    const ends = receivers.map(({ receiver }) => outcome(receiver));
    if (how === 'abort()') cast.abort(new Error('enough'));
    else await cast[Symbol.asyncDispose]();
    expect(await rejection(cast.finished)).toMatchObject({ name: 'AbortError', code: 'ERR_RDMC_ABORTED' });
    for (const end of await Promise.all(ends)) expect(end).toMatchObject({ code: 'ERR_RDMC_ABORTED' });
    for (const { directory } of receivers) expect(temporaries(directory)).toEqual([]);
    cast.abort();
  });

  it.each(['before it begins', 'while it connects'])('%s ends it at once', async (when) => {
    const silent = createServer();
    silent.listen(0, '127.0.0.1');
    await once(silent, 'listening');
    cleanUp.push(() => silent.close());
    const abort = new AbortController();
    if (when === 'before it begins') abort.abort();
    const to = [{ host: '127.0.0.1', port: (silent.address() as AddressInfo).port }];
    const cast = castFile(join(sourceTree(10), 'root'), {
      to,
      signal: abort.signal,
      connectTimeoutMs: 60_000,
    });
    if (!abort.signal.aborted) {
      const [socket] = (await once(silent, 'connection')) as [Socket];
      cleanUp.push(() => socket.destroy());
      abort.abort();
    }
    expect(await rejection(cast.finished)).toMatchObject({ name: 'AbortError', cause: abort.signal.reason });
  });

  it('of a receiver: is reported at the sender, and the others continue', async () => {
    const from = sourceTree();
    const abort = new AbortController();
    const receivers = [...(await startReceivers(1)), ...(await startReceivers(1, { signal: abort.signal }))];
    const cast = castFile(join(from, 'root'), { to: receivers.map(({ to }) => to), ...slow });
    await until(cast, someReceived(1));
    abort.abort();
    const summary = await cast.finished;
    expect(summary.receivers).toMatchObject([
      { state: 'complete' },
      { state: 'failed', code: 'ERR_RDMC_ABORTED' },
    ]);
    expectSameTree(receivers[0]!.directory, from);
    expect(visible(receivers[1]!.directory)).toEqual([]);
  });

  it('by the death of the sender: receivers clean up and still listen', async () => {
    const from = sourceTree();
    const [receiver] = await startReceivers(1);
    const { to, directory } = receiver!;
    const end = outcome(receiver!.receiver);
    const options = { to: [to], ...slow };
    const argument = JSON.stringify({ path: join(from, 'root'), options, diesAfter: 500_000 });
    const child = fork(fileURLToPath(new URL('fixtures/sender.mjs', import.meta.url)), [argument]);
    expect((await once(child, 'exit'))[1]).toBe('SIGKILL');
    expect(await end).toMatchObject({ type: 'failed', code: 'ERR_RDMC_SENDER_LOST' });
    expect(temporaries(directory)).toEqual([]);
    await castFile(join(from, 'root'), { to: [to] }).finished;
    expectSameTree(directory, from);
    expect(temporaries(directory)).toEqual([]);
  });
});

const root = mayMount();

describe(`a receiver's disk${root ? '' : ' (enable: run the tests as root, who may mount)'}`, () => {
  it.runIf(root)(
    'that is too small is detected before anything is sent, and the others continue',
    async () => {
      const from = sourceTree();
      const small = await startReceivers(1, { directory: smallDisk('size=1m') });
      const large = await startReceivers(1);
      const to = [small[0]!.to, large[0]!.to];
      const summary = await castFile(join(from, 'root'), { to }).finished;
      expect(summary.receivers).toMatchObject([
        { state: 'failed', code: 'ERR_RDMC_NO_SPACE' },
        { state: 'complete' },
      ]);
      expect(summary.receivers[0]!.message).toContain(`127.0.0.1:${to[0]!.port}`);
      expectSameTree(large[0]!.directory, from);
    },
  );

  it.runIf(root)(
    'that becomes full during the cast: is reported, cleans up, and the others continue',
    async () => {
      const from = sourceTree();
      // There is room for all bytes, and not for all files.
      const directory = smallDisk('size=20m,nr_inodes=20');
      const small = await startReceivers(1, { directory });
      const large = await startReceivers(2);
      const to = [large[0]!.to, small[0]!.to, large[1]!.to];
      const end = outcome(small[0]!.receiver);
      const summary = await castFile(join(from, 'root'), { to, messageBytes: 1 << 18 }).finished;
      expect(summary.receivers.map(({ state }) => state)).toEqual(['complete', 'failed', 'complete']);
      expect(summary.receivers[1]).toMatchObject({ code: 'ERR_RDMC_NO_SPACE' });
      expect(await end).toMatchObject({ type: 'failed', code: 'ERR_RDMC_NO_SPACE' });
      for (const { directory } of large) expectSameTree(directory, from);
      expect(temporaries(directory)).toEqual([]);
    },
  );

  it('of two receivers of one cast is named, and one of them gets everything', async () => {
    const from = sourceTree(1000);
    const [one, two] = await startReceivers(2);
    const shared = await ReceiverProcess.start({ directory: one!.directory });
    const to = [one!.to, shared.address, two!.to];
    const { receivers } = await castFile(join(from, 'root'), { to }).finished;
    const codes = receivers.map(({ code, state }) => code ?? state);
    expect(codes.slice(0, 2).sort()).toEqual(['ERR_RDMC_SHARED_DIRECTORY', 'complete']);
    expect(codes[2]).toBe('complete');
    expectSameTree(one!.directory, from);
  });

  it.runIf(root)('that is read-only is named', async () => {
    const directory = smallDisk('size=1m');
    const [receiver] = await startReceivers(1, { directory });
    execFileSync('/bin/mount', ['-o', 'remount,ro', directory]);
    const error = await rejection(castFile(join(sourceTree(10), 'root'), { to: [receiver!.to] }).finished);
    expect(error.code).toBe('ERR_RDMC_READ_ONLY');
    const atStart = await rejection(receiveFiles({ directory, port: 0 }));
    expect(atStart).toMatchObject({
      code: 'ERR_RDMC_READ_ONLY',
      message: expect.stringContaining(directory),
    });
  });

  it.runIf(root)('where the receiver may not write is named, whole and in parts', async () => {
    const from = sourceTree(10);
    const nobody = 65_534;
    const closed = temporaryDirectory();
    execFileSync('chmod', ['755', closed]);
    execFileSync('chown', [`${nobody}`, closed]);
    const receiver = await ReceiverProcess.start({ directory: closed, ...shared }, nobody);
    execFileSync('chown', ['0', closed]);
    const toClosed = { to: [receiver.address], key: KEY };
    const error = await rejection(castFile(join(from, 'root'), toClosed).finished);
    expect(error.code).toBe('ERR_RDMC_PERMISSION');
    const partly = temporaryDirectory();
    mkdirSync(join(partly, 'root'));
    mkdirSync(join(partly, 'root/small'));
    execFileSync('chown', [`${nobody}`, partly, join(partly, 'root')]);
    const other = await ReceiverProcess.start({ directory: partly, ...shared }, nobody);
    const to = [other.address];
    const { receivers, problems } = await castFile(join(from, 'root'), { to, key: KEY }).finished;
    expect(receivers).toMatchObject([{ state: 'failed', code: 'ERR_RDMC_PARTIAL', files: 1 }]);
    expect(new Set(problems.map(({ code }) => code))).toEqual(new Set(['ERR_RDMC_PERMISSION']));
    expect(problems[0]).toMatchObject({ receiver: `127.0.0.1:${other.address.port}` });
  });
});

describe(`a receiver that is not root${root ? '' : ' (enable: run the tests as root, who may start one)'}`, () => {
  it.runIf(root)('gets more directories without permission than it keeps open', async () => {
    const from = temporaryDirectory();
    for (let number = 0; number < 150; number += 1) {
      write(from, `root/${number}/below/file`, `${number}`, 0o400);
      chmodSync(join(from, `root/${number}/below`), 0o500);
      chmodSync(join(from, `root/${number}`), 0);
    }
    chmodSync(join(from, 'root'), 0o500);
    const directory = temporaryDirectory();
    execFileSync('chown', ['65534', directory]);
    const receiver = await ReceiverProcess.start({ directory, ...shared }, 65_534);
    const cast = castFile(join(from, 'root'), { to: [receiver.address], key: KEY });
    const summary = await cast.finished;
    // Processes of two users share no memory.
    expect(cast.progress?.route).toMatchObject({ transports: ['tcp'] });
    expect(summary.problems).toEqual([]);
    expectSameTree(directory, from);
  });
});

describe('a file that changes while it is sent', () => {
  it.each<[string, (path: string) => void]>([
    ['grows', (path) => appendFileSync(path, 'more')],
    ['shrinks', (path) => truncateSync(path, 10)],
  ])('%s: is named and nowhere, and the rest is everywhere', async (_name, change) => {
    const from = sourceTree();
    const receivers = await startReceivers(2);
    const cast = castFile(join(from, 'root'), { to: receivers.map(({ to }) => to), ...slow });
    await until(cast, someReceived(0));
    change(join(from, 'root/large'));
    const summary = await cast.finished;
    expect(summary.problems).toMatchObject([{ path: 'root/large', code: 'ERR_RDMC_FILE_CHANGED' }]);
    expect(summary.receivers.map(({ state, files }) => `${state} ${files}`)).toEqual([
      'complete 50',
      'complete 50',
    ]);
    const names = namesIn(from).filter((name) => name !== 'root/large');
    for (const { directory } of receivers) expect(namesIn(directory)).toEqual(names);
  });
});

describe('wrong set-ups fail with a code', () => {
  const one = (): string => write(temporaryDirectory(), 'file');

  it.each([
    ['another key', KEY, `${KEY}!`],
    ['a key at the sender only', undefined, KEY],
    ['a key at the receiver only', KEY, undefined],
  ])('%s', async (_name, theirs, ours) => {
    const [receiver] = await startReceivers(1, { key: theirs, host: '127.0.0.1' });
    const error = await rejection(castFile(one(), { to: [receiver!.to], key: ours }).finished);
    expect(error.code).toBe('ERR_RDMC_KEY_MISMATCH');
    expect(error.message).toContain(`127.0.0.1:${receiver!.to.port}`);
    // It still listens.
    await castFile(one(), { to: [receiver!.to], key: theirs, dryRun: true }).finished;
  });

  it('no key beyond loopback, at both ends', async () => {
    expect(() => castFile(one(), { to: [{ host: '192.0.2.1' }] })).toThrow(
      expect.objectContaining({ code: 'ERR_RDMC_KEY_REQUIRED' }),
    );
    const receiving = receiveFiles({ directory: temporaryDirectory(), host: '0.0.0.0', port: 0 });
    expect((await rejection(receiving)).code).toBe('ERR_RDMC_KEY_REQUIRED');
  });

  it('a receiver of another version: both are named', async () => {
    const other = await fakeReceiver(async (_channel, socket) => {
      socket.resume().write(encodeFrame(77, Buffer.from('{"anything":true}')));
    });
    cleanUp.push(other.close);
    const to = [other.to];
    const error = await rejection(castFile(one(), { to }).finished);
    expect(error.code).toBe('ERR_RDMC_VERSION_MISMATCH');
    expect(error.message).toMatch(/version 77 .* version 3;/);
  });

  it('a receiver given twice, also under two names', async () => {
    const [receiver] = await startReceivers(1);
    const { port } = receiver!.to;
    const twice = (host: string) =>
      castFile(one(), {
        to: [
          { host: '127.0.0.1', port },
          { host, port },
        ],
      });
    expect(() => twice('127.0.0.1')).toThrow(expect.objectContaining({ code: 'ERR_RDMC_DUPLICATE_HOST' }));
    const error = await rejection(twice('localhost').finished);
    expect(error.code).toBe('ERR_RDMC_DUPLICATE_HOST');
    expect(error.message).toContain(`localhost:${port}`);
  });

  it('a receiver that does not exist, beside one that does', async () => {
    const from = sourceTree(1000);
    const [gone, receiver] = await startReceivers(2);
    await gone!.receiver.close();
    const to = [gone!.to, receiver!.to];
    const summary = await castFile(join(from, 'root'), { to }).finished;
    expect(summary.receivers).toMatchObject([
      { ...to[0], state: 'failed', code: 'ERR_RDMC_CAST_UNREACHABLE' },
      { ...to[1], state: 'complete' },
    ]);
    expect(summary.receivers[0]!.message).toContain(`127.0.0.1:${to[0]!.port}`);
    expectSameTree(receiver!.directory, from);
  });

  it('a receiver that accepts and says nothing, within the time-out', async () => {
    const sockets: Socket[] = [];
    const server = createServer((socket) => void sockets.push(socket));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    cleanUp.push(
      () => server.close(),
      () => sockets.map((socket) => socket.destroy()),
    );
    const to = [{ host: '127.0.0.1', port: (server.address() as AddressInfo).port }];
    const error = await rejection(castFile(one(), { to, connectTimeoutMs: 300 }).finished);
    expect(error.code).toBe('ERR_RDMC_CAST_UNREACHABLE');
    expect(error.message).toContain('300 ms');
  });

  it('a name that does not resolve', async () => {
    const to = [{ host: 'no-such-host.invalid', port: 1 }];
    const error = await rejection(castFile(one(), { to, key: KEY }).finished);
    expect(error.code).toBe('ERR_RDMC_UNKNOWN_HOST');
    expect(error.message).toContain('no-such-host.invalid');
  });

  it('a file that does not exist, and two of one name', async () => {
    const [receiver] = await startReceivers(1);
    const to = [receiver!.to];
    expect((await rejection(castFile('/no/such/file', { to }).finished)).code).toBe('ERR_RDMC_NOT_FOUND');
    const paths = [one(), one()];
    expect((await rejection(castFiles(paths, { to }).finished)).code).toBe('ERR_RDMC_DUPLICATE_NAME');
  });

  it('a port in use, a missing directory, a file instead of a directory, a port range without a free port', async () => {
    const directory = temporaryDirectory();
    const [receiver] = await startReceivers(1);
    const { port } = receiver!.to;
    expect((await rejection(receiveFiles({ directory, port }))).code).toBe('ERR_RDMC_ADDRESS_IN_USE');
    const missing = receiveFiles({ directory: join(directory, 'missing'), port: 0 });
    expect((await rejection(missing)).code).toBe('ERR_RDMC_NOT_FOUND');
    const none = receiveFiles({ directory: one(), port: 0 });
    expect((await rejection(none)).code).toBe('ERR_RDMC_NOT_A_DIRECTORY');
    const [narrow] = await startReceivers(1, { meshPorts: [port, port] });
    const error = await rejection(castFile(one(), { to: [narrow!.to] }).finished);
    expect(error.code).toBe('ERR_RDMC_ADDRESS_IN_USE');
  });

  it('options that are misspelt or out of range', async () => {
    const to = [{ host: '127.0.0.1', port: 1 }];
    const wrong: [object, string][] = [
      [{ to, keys: KEY }, 'ERR_RDMC_UNKNOWN_OPTION'],
      [{ to: [] }, 'ERR_RDMC_INVALID_OPTION'],
      [{ to: [{ host: '127.0.0.1', ports: 1 }] }, 'ERR_RDMC_UNKNOWN_OPTION'],
      [{ to, messageBytes: 10 }, 'ERR_RDMC_INVALID_OPTION'],
      [{ to, bandwidthLimit: 0 }, 'ERR_RDMC_INVALID_OPTION'],
      [{ to, retries: -1 }, 'ERR_RDMC_INVALID_OPTION'],
      [{ to, algorithm: 'pigeon' }, 'ERR_RDMC_INVALID_OPTION'],
      [{ to, algorithm: 'hybrid' }, 'ERR_RDMC_INVALID_OPTION'],
      [{ to, transport: 'udp' }, 'ERR_RDMC_INVALID_OPTION'],
      [{ to, key: 'short' }, 'ERR_RDMC_MESH_WEAK_KEY'],
    ];
    for (const [options, code] of wrong) {
      expect(() => castFile('x', options as never), code).toThrow(expect.objectContaining({ code }));
    }
    expect((await rejection(receiveFiles({ directory: '.', prot: 1 } as never))).code).toBe(
      'ERR_RDMC_UNKNOWN_OPTION',
    );
    expect(() => castFiles([], { to })).toThrow(expect.objectContaining({ code: 'ERR_RDMC_INVALID_OPTION' }));
  });
});

/** Replaces a function of the sender's node by one that fails. */
function failing(name: 'allocate' | 'createGroup', error: Error): void {
  type Async = (this: RdmcNode, ...given: unknown[]) => Promise<never>;
  const original = RdmcNode.prototype[name] as Async;
  const spy = vi.spyOn(RdmcNode.prototype, name).mockImplementation(function fail(
    this: RdmcNode,
    ...given: unknown[]
  ) {
    return this.id === SENDER_ID ? Promise.reject(error) : original.apply(this, given);
  });
  cleanUp.push(() => spy.mockRestore());
}

describe('a sender that cannot allocate its buffers', () => {
  it.each([false, true])('fails at once with that code; its group fails too: %s', async (groupFails) => {
    const [receiver] = await startReceivers(1);
    failing('allocate', new VerbsError('ERR_RDMC_MEMLOCK', 'no more memory can be locked'));
    if (groupFails) failing('createGroup', new Error('no group'));
    const warn = vi.fn();
    const cast = castFile(write(temporaryDirectory(), 'file'), { to: [receiver!.to], logger: { warn } });
    expect((await rejection(cast.finished)).code).toBe('ERR_RDMC_MEMLOCK');
    // No group is formed again.
    expect(warn).not.toHaveBeenCalled();
  });
});

describe('many receivers', () => {
  it.each([{}, { waitFor: 1, joinWindowMs: 0 }])(
    'that do not answer cause no warning of listeners, with %j',
    async (options) => {
      const warnings: Error[] = [];
      const warned = (warning: Error): void => void warnings.push(warning);
      process.on('warning', warned);
      cleanUp.push(() => process.off('warning', warned));
      const path = write(temporaryDirectory(), 'file');
      // The ports are closed.
      const to = Array.from({ length: 20 }, (_, index) => ({ host: '127.0.0.1', port: index + 1 }));
      await rejection(castFile(path, { to, ...options }).finished);
      expect(warnings).toEqual([]);
    },
  );
});
