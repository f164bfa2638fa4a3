/** What may be told when: against a log that acknowledges by hand. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { FLUSH_STEP_KEYS } from '../src/limits.js';
import { encodeCommand } from './support/encode.js';
import { type ManualServer, startManualServer } from './support/manual-server.js';
import { RawClient } from './support/raw-client.js';

let manual: ManualServer;
let a: RawClient;
let b: RawClient;

beforeEach(async () => {
  manual = await startManualServer();
  a = await RawClient.connect(manual.server.port);
  b = await RawClient.connect(manual.server.port);
});
afterEach(async () => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  a.close();
  b.close();
  await manual.server.close();
});

function send(client: RawClient, ...words: string[]): void {
  client.send(encodeCommand(words).toString('latin1'));
}

/** A write that the log takes. */
async function put(key: string, value: string): Promise<string> {
  const client = await RawClient.connect(manual.server.port);
  const before = manual.log.appends.length;
  send(client, 'SET', key, value);
  await manual.log.made(before + 1);
  manual.log.acknowledge();
  const reply = await client.until((text) => text !== '');
  client.close();
  return reply;
}

/** Another client's round trip: what could have been answered before it was. */
async function roundTrip(): Promise<void> {
  const other = await RawClient.connect(manual.server.port);
  expect(await other.command('PING')).toBe('+PONG\r\n');
  other.close();
}

it('neither the writer nor a reader is told before the log has acknowledged; others are not held up', async () => {
  send(a, 'SET', 'k', '1');
  await manual.log.made(1);
  send(b, 'GET', 'k');
  await roundTrip();
  const other = await RawClient.connect(manual.server.port);
  expect(await other.command('GET', 'other')).toBe('$-1\r\n');
  other.close();
  expect([a.received, b.received]).toEqual(['', '']);
  manual.log.acknowledge();
  expect(await a.until((text) => text !== '')).toBe('+OK\r\n');
  expect(await b.until((text) => text !== '')).toBe('$1\r\n1\r\n');
});

it('a reader of a key whose removal is not acknowledged waits', async () => {
  send(a, 'SET', 'k', '1');
  await manual.log.made(1);
  manual.log.acknowledge();
  await a.until((text) => text === '+OK\r\n');
  send(a, 'DEL', 'k');
  await manual.log.made(2);
  send(b, 'GET', 'k');
  await roundTrip();
  expect(b.received).toBe('');
  manual.log.acknowledge();
  expect(await b.until((text) => text !== '')).toBe('$-1\r\n');
  expect(manual.store.keyspace.size).toBe(0);
});

it('replies of one client keep their order where some wait', async () => {
  send(a, 'SET', 'k', '1');
  send(a, 'PING');
  send(a, 'GET', 'nothing');
  await manual.log.made(1);
  await roundTrip();
  expect(a.received).toBe('');
  manual.log.acknowledge();
  expect(await a.until((text) => text.endsWith('-1\r\n'))).toBe('+OK\r\n+PONG\r\n$-1\r\n');
});

it('writes of one pipeline are one append', async () => {
  const words = Array.from({ length: 100 }, (_, i) => ['SET', `k${i}`, 'v']);
  a.send(Buffer.concat(words.map(encodeCommand)).toString('latin1'));
  await manual.log.made(1);
  expect(manual.log.appends.map(({ length }) => length)).toEqual([100]);
  manual.log.acknowledge();
  expect(await a.until((text) => text.length === 500)).toBe('+OK\r\n'.repeat(100));
});

it('a write that the log refuses did not happen, and its error is one that clients know', async () => {
  send(a, 'SET', 'k', 'old');
  await manual.log.made(1);
  manual.log.acknowledge();
  await a.until((text) => text === '+OK\r\n');
  manual.log.refusal = Object.assign(new Error('no room'), { code: 'ERR_RDMC_LOG_FULL' });
  expect(await b.command('SET', 'k', 'new')).toBe('-OOM ERR_RDMC_LOG_FULL no room\r\n');
  expect(await b.command('INCR', 'n')).toBe('-OOM ERR_RDMC_LOG_FULL no room\r\n');
  expect(await b.command('GET', 'k')).toBe('$3\r\nold\r\n');
  expect(await b.command('EXISTS', 'n')).toBe(':0\r\n');
  manual.log.refusal = Object.assign(new Error('two of three'), { code: 'ERR_RDMC_TOO_FEW_BACKUPS' });
  expect(await b.command('DEL', 'k')).toBe('-NOREPLICAS ERR_RDMC_TOO_FEW_BACKUPS two of three\r\n');
});

it('a FLUSHDB that the log refuses in the middle says so, as often as it is asked for', async () => {
  const names = ['x', 'y', 'z'].map((name) => name.repeat(600_000));
  for (const name of names) expect(await put(name, '1')).toBe('+OK\r\n');
  manual.log.refusal = Object.assign(new Error('no room'), { code: 'ERR_RDMC_LOG_FULL' });
  for (let i = 0; i < 2; i += 1) {
    expect(await b.command('FLUSHDB')).toMatch(/^-OOM ERR_RDMC_LOG_FULL no room/);
  }
  expect(await b.command('DBSIZE')).toBe(':3\r\n');
});

describe('FLUSHDB of many keys', () => {
  beforeEach(async () => {
    const keys = Array.from({ length: 2 * FLUSH_STEP_KEYS + 1 }, (_, i) => [`key${i}`, 'x']).flat();
    a.send(encodeCommand(['MSET', ...keys]).toString());
    await manual.log.made(1);
    manual.log.acknowledge();
    await a.until((text) => text === '+OK\r\n');
  });

  it('is done in steps: others have turns between them, and what its client sent behind it waits', async () => {
    a.send('FLUSHDB\r\nSET key0 new\r\nGET key0\r\n');
    for (const appends of [2, 3, 4]) {
      await manual.log.made(appends);
      expect(await b.command('PING')).toBe('+PONG\r\n');
      expect(manual.log.appends.length).toBe(appends);
      manual.log.acknowledge();
    }
    expect(manual.log.appends.slice(1).map(({ length }) => length)).toEqual([
      FLUSH_STEP_KEYS,
      FLUSH_STEP_KEYS,
      1,
    ]);
    await manual.log.made(5);
    expect(await a.until((text) => text.length >= 10)).toBe('+OK\r\n+OK\r\n');
    manual.log.acknowledge();
    const all = '+OK\r\n+OK\r\n+OK\r\n$3\r\nnew\r\n';
    expect(await a.until((text) => text.length >= all.length)).toBe(all);
    expect(await b.command('DBSIZE')).toBe(':1\r\n');
  });

  it('says that a part was done where a later step is refused', async () => {
    a.send('FLUSHDB\r\n');
    await manual.log.made(2);
    manual.log.refusal = Object.assign(new Error('no room'), { code: 'ERR_RDMC_LOG_FULL' });
    manual.log.acknowledge();
    const reply = await a.until((text) => text.length > 5 && text.endsWith('\r\n'));
    expect(reply).toBe('+OK\r\n-OOM ERR_RDMC_LOG_FULL no room (a part of the keys was removed)\r\n');
    expect(await b.command('DBSIZE')).toBe(`:${FLUSH_STEP_KEYS + 1}\r\n`);
  });
});

it('what takes long is not all done before others have a turn', async () => {
  expect(await put('a'.repeat(300_000), '1')).toBe('+OK\r\n');
  const ran: string[] = [];
  const { executor } = manual;
  const run = executor.run.bind(executor);
  vi.spyOn(executor, 'run').mockImplementation((command, args, session) => {
    ran.push(command.name);
    run(command, args, session);
  });
  a.send(Buffer.concat(Array(5).fill(encodeCommand(['KEYS', '*aaab']))).toString());
  b.send('PING\r\n');
  expect(await a.until((text) => text.length >= 20)).toBe('*0\r\n'.repeat(5));
  await b.until((text) => text !== '');
  expect(ran.filter((name) => name === 'keys').length).toBe(5);
  expect(ran.indexOf('ping')).toBeLessThan(ran.lastIndexOf('keys'));
});

it('appends that waited for room and got none did not happen, nor what was built on them', async () => {
  expect(await put('n', '1')).toBe('+OK\r\n');
  send(a, 'INCR', 'n');
  await manual.log.made(2);
  send(a, 'INCR', 'n');
  send(a, 'SET', 'other', 'x');
  await manual.log.made(3);
  send(b, 'GET', 'n');
  await roundTrip();
  manual.log.refuseAll(Object.assign(new Error('no room'), { code: 'ERR_RDMC_LOG_FULL' }));
  const oom = '-OOM ERR_RDMC_LOG_FULL no room\r\n';
  expect(await a.until((text) => text.endsWith(oom.repeat(3)))).toBe(oom.repeat(3));
  expect(await b.until((text) => text !== '')).toBe(oom);
  expect(await b.command('MGET', 'n', 'other')).toBe('*2\r\n$1\r\n1\r\n$-1\r\n');
  expect(await put('n', '5')).toBe('+OK\r\n');
});

it('what was not acknowledged when the log ended has an unknown outcome', async () => {
  send(a, 'SET', 'k', '1');
  await manual.log.made(1);
  send(b, 'GET', 'k');
  await roundTrip();
  manual.log.end(new Error('fenced'));
  manual.executor.logEnded();
  expect(await a.until((text) => text !== '')).toMatch(/^-UNKNOWN ERR_RDMC_KV_OUTCOME_UNKNOWN /);
  expect(await b.until((text) => text !== '')).toMatch(/^-UNKNOWN /);
});

it('without a lease nothing is read, not even what was read just before it ended', async () => {
  manual.lease.valid = false;
  expect(await a.command('PING')).toBe('+PONG\r\n');
  send(b, 'GET', 'k');
  expect(await b.until((text) => text !== '')).toMatch(/^-CLUSTERDOWN ERR_RDMC_LEASE_EXPIRED /);
  manual.lease.valid = true;
  expect(await a.command('GET', 'k')).toBe('$-1\r\n');
});

/** Acknowledges what waits when a command has run, before its turn has ended. */
function acknowledgeAfter(name: string): void {
  const { executor, log } = manual;
  const run = executor.run.bind(executor);
  vi.spyOn(executor, 'run').mockImplementation((command, args, session) => {
    run(command, args, session);
    if (command.name !== name) return;
    manual.lease.valid = false;
    // Runs when the client's input was taken, and before the event loop comes to the turn's end.
    queueMicrotask(() => log.acknowledge());
  });
}

it('an acknowledgement does not let a read out whose turn has not looked at the lease yet', async () => {
  expect(await put('old', '1')).toBe('+OK\r\n');
  send(a, 'SET', 'k', '1');
  await manual.log.made(2);
  acknowledgeAfter('get');
  send(a, 'GET', 'old');
  expect(await a.until((text) => text.split('\r\n').length > 2)).toMatch(
    /^\+OK\r\n-CLUSTERDOWN ERR_RDMC_LEASE_EXPIRED .*\r\n$/,
  );
});

it('a read beside a write that the log refuses needs the lease', async () => {
  expect(await put('old', '1')).toBe('+OK\r\n');
  manual.lease.valid = false;
  send(a, 'SET', 'k', '2');
  await manual.log.made(2);
  a.send('GET old\r\nSET k 3\r\n');
  await manual.log.made(3);
  manual.log.refuseAll(Object.assign(new Error('no room'), { code: 'ERR_RDMC_LOG_FULL' }));
  const oom = '-OOM ERR_RDMC_LOG_FULL no room\r\n';
  expect(await a.until((text) => text.length >= oom.length * 3)).toBe(oom.repeat(3));
});

it('a read beside a write whose outcome is not known needs the lease', async () => {
  expect(await put('old', '1')).toBe('+OK\r\n');
  manual.lease.valid = false;
  a.send('GET old\r\nSET k 3\r\n');
  await manual.log.made(2);
  manual.log.end(new Error('fenced'));
  manual.executor.logEnded();
  expect(await a.until((text) => text.split('\r\n').length > 2)).toMatch(/^-UNKNOWN .*\r\n-UNKNOWN .*\r\n$/);
});

it('a key that was found expired never comes back, whatever the clock does', async () => {
  const now = Date.now();
  vi.useFakeTimers({ toFake: ['Date'], now });
  send(a, 'SET', 'k', '1', 'PX', '1000');
  await manual.log.made(1);
  manual.log.acknowledge();
  await a.until((text) => text === '+OK\r\n');
  vi.setSystemTime(now + 2000);
  send(b, 'GET', 'k');
  // Its removal is in the log before anybody is told of it.
  await manual.log.made(2);
  await roundTrip();
  expect(b.received).toBe('');
  manual.log.acknowledge();
  expect(await b.until((text) => text !== '')).toBe('$-1\r\n');
  vi.setSystemTime(now);
  expect(await b.command('GET', 'k')).toBe('$-1\r\n');
});

it('the log is told once of every entry that is superseded', async () => {
  for (const value of ['1', '2', '3']) {
    send(a, 'SET', 'k', value);
    send(a, 'SET', 'other', value);
  }
  await manual.log.made(1);
  manual.log.acknowledge();
  await a.until((text) => text === '+OK\r\n'.repeat(6));
  expect([...manual.log.deadOffsets].sort()).toEqual([1, 2, 3, 4]);
});
