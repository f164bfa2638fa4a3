/** What commands about many keys, and about missing ones, tell when: a server without a lease, and writes without an acknowledgement. */
import { setImmediate as turn } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from 'vitest';
import { slotOf } from '../src/store/slot.js';
import { CommandRunner } from './support/command-runner.js';
import { ManualLog } from './support/manual-server.js';

const EXPIRED = /^-CLUSTERDOWN ERR_RDMC_LEASE_EXPIRED .*\r\n$/;
const FULL = Object.assign(new Error('no room'), { code: 'ERR_RDMC_LOG_FULL' });
const OOM = '-OOM ERR_RDMC_LOG_FULL no room\r\n';
/** More keys than a scan returns of one slot at once. */
const MANY = 200;

let log: ManualLog;
let runner: CommandRunner;

beforeEach(() => {
  log = new ManualLog();
  runner = new CommandRunner(log);
});

function slotNumber(key: string): string {
  return String(slotOf(Buffer.from(key), 0, key.length));
}

/** The log acknowledges what it has; the replies that may be sent then. */
async function acknowledged(): Promise<string> {
  log.acknowledge();
  await turn();
  return runner.replies();
}

async function refused(): Promise<string> {
  log.refuseAll(FULL);
  await turn();
  return runner.replies();
}

/** Writes that the log acknowledges. */
async function put(...words: string[]): Promise<void> {
  runner.turn(words);
  expect(await acknowledged()).not.toBe('');
}

/** Replies of another client in a turn of its own: those that do not wait. */
function asked(...lines: string[]): string {
  const other = new CommandRunner(runner);
  other.turn(...lines.map((line) => line.split(' ')));
  return other.replies();
}

describe('without a lease', () => {
  // A slot with a key, and one without.
  const slots = [slotNumber('k'), slotNumber('none')];

  it.each([
    'SCAN 0',
    'SCAN 0 MATCH nothing COUNT 100000',
    'SCAN 0 TYPE hash',
    'KEYS nothing',
    'DBSIZE',
    ...slots.map((slot) => `CLUSTER COUNTKEYSINSLOT ${slot}`),
    'FLUSHDB',
  ])('%s is refused, where the server has keys and where it has none', async (line) => {
    runner.lease.valid = false;
    expect(runner.run(...line.split(' '))).toMatch(EXPIRED);
    if (line === 'FLUSHDB') return;
    runner.lease.valid = true;
    await put('SET', 'k', '1');
    runner.lease.valid = false;
    expect(runner.run(...line.split(' '))).toMatch(EXPIRED);
    runner.lease.valid = true;
    expect(runner.run(...line.split(' '))).not.toMatch(EXPIRED);
  });

  it.each([
    ...['GET', 'STRLEN', 'EXISTS', 'TOUCH', 'TYPE', 'TTL', 'PTTL', 'EXPIRETIME', 'PEXPIRETIME'],
    ...['MGET', 'HGETALL', 'HLEN', 'HKEYS', 'HVALS', 'GETEX', 'GETDEL', 'DEL', 'UNLINK', 'PERSIST'],
    ...['OBJECT ENCODING', 'OBJECT FREQ', 'OBJECT IDLETIME', 'MEMORY USAGE', 'rdmc.watch'],
  ])('%s of a missing key is refused', (name) => {
    runner.lease.valid = false;
    expect(runner.run(...name.split(' '), 'none')).toMatch(EXPIRED);
  });

  it.each([
    ...[
      'GETRANGE none 0 -1',
      'HGET none f',
      'HMGET none f',
      'HEXISTS none f',
      'HDEL none f',
      'EXPIRE none 5',
    ],
    ...['PEXPIRE none 5', 'EXPIREAT none 5', 'PEXPIREAT none 5', 'SET none 1 XX', 'GETEX none EX 5'],
    'rdmc.exec none 0 2 GET none',
  ])('%s is refused', (line) => {
    runner.lease.valid = false;
    expect(runner.run(...line.split(' '))).toMatch(EXPIRED);
  });

  it('what does not tell of keys is answered', () => {
    runner.lease.valid = false;
    expect(runner.run('PING')).toBe('+PONG\r\n');
    expect(runner.run('SCAN', '0', 'COUNT', '0')).toBe('-ERR syntax error\r\n');
    expect(runner.run('KEYS', 'x'.repeat(2000))).toMatch(/^-ERR a pattern is over/);
  });

  it('a FLUSHDB that removes keys does not need it: the acknowledgement proves that they were its own', async () => {
    await put('SET', 'k', '1');
    runner.lease.valid = false;
    runner.turn(['FLUSHDB']);
    expect(await acknowledged()).toBe('+OK\r\n');
  });
});

describe('a key whose removal is not acknowledged', () => {
  beforeEach(async () => {
    await put('MSET', 'k', '1', 'other', '2');
    runner.turn(['DEL', 'k']);
  });

  it.each([
    ['SCAN', `SCAN ${slotNumber('k')} COUNT 1`, /\*1\r\n\$5\r\nother\r\n$/],
    ['SCAN with a pattern', `SCAN ${slotNumber('k')} MATCH k*`, /\*0\r\n$/],
    ['KEYS', 'KEYS k', /^\*0\r\n$/],
    ['DBSIZE', 'DBSIZE', /^:1\r\n$/],
    ['COUNTKEYSINSLOT', `CLUSTER COUNTKEYSINSLOT ${slotNumber('k')}`, /^:0\r\n$/],
  ])('is not left out by %s before', async (_, line, expected) => {
    const other = new CommandRunner(runner);
    other.turn(line.split(' '));
    expect([other.replies(), await acknowledged()]).toEqual(['', ':1\r\n']);
    expect(other.replies()).toMatch(expected);
  });

  it('does not hold up what does not depend on it', () => {
    expect(asked('KEYS other')).toBe('*1\r\n$5\r\nother\r\n');
    expect(asked('SCAN 0 MATCH x* COUNT 1')).toMatch(/\*0\r\n$/);
    expect(asked(`SCAN ${Number(slotNumber('k')) + 1} COUNT 1`)).not.toBe('');
    expect(asked(`CLUSTER COUNTKEYSINSLOT ${slotNumber('other')}`)).toBe(':1\r\n');
  });

  it('is there again where the log refuses that, and nothing waits any more', async () => {
    runner.turn(['DBSIZE'], ['KEYS', 'k']);
    expect(await refused()).toBe(OOM.repeat(3));
    expect(asked('DBSIZE')).toBe(':2\r\n');
    expect(asked('KEYS k')).toBe('*1\r\n$1\r\nk\r\n');
    expect(asked(`CLUSTER COUNTKEYSINSLOT ${slotNumber('k')}`)).toBe(':1\r\n');
  });

  it('holds up a second FLUSHDB, which finds none', async () => {
    await acknowledged();
    runner.turn(['FLUSHDB']);
    const other = new CommandRunner(runner);
    other.turn(['FLUSHDB'], ['SCAN', '0', 'COUNT', '100000']);
    expect(other.replies()).toBe('');
    expect(await acknowledged()).toBe('+OK\r\n');
    expect(other.replies()).toMatch(/^\+OK\r\n\*2\r\n/);
  });

  it('in a slot with many keys: the page with its place waits, and others do not', async () => {
    const keys = Array.from({ length: MANY }, (_, i) => `{t}${i}`);
    await put('MSET', ...keys.flatMap((key) => [key, 'v']));
    const slot = Number(slotNumber('t'));
    const pages: string[][] = [];
    for (let cursor = String(slot); ; ) {
      const [, , next, , ...rest] = asked(`SCAN ${cursor} COUNT 50`).split('\r\n');
      const found = rest.filter((line) => line.startsWith('{t}'));
      if (found.length === 0) break;
      pages.push(found);
      cursor = next!;
    }
    expect(pages.flat().sort()).toEqual([...keys].sort());
    runner.turn(['DEL', pages[1]![0]!]);
    const first = asked(`SCAN ${slot} COUNT 50`).split('\r\n');
    expect(first).toContain(pages[0]![0]);
    const other = new CommandRunner(runner);
    other.turn(['SCAN', first[2]!, 'COUNT', '50']);
    expect([other.replies(), await acknowledged()]).toEqual(['', ':1\r\n']);
    expect(other.replies()).not.toContain(`\r\n${pages[1]![0]}\r\n`);
  });
});

describe('DBSIZE', () => {
  it('waits for new keys, and not for new values of keys', async () => {
    await put('SET', 'k', '1');
    runner.turn(['SET', 'k', '2']);
    expect(asked('DBSIZE')).toBe(':1\r\n');
    runner.turn(['HSET', 'h', 'f', '1']);
    expect(asked('DBSIZE')).toBe('');
    expect(await acknowledged()).toBe('+OK\r\n:1\r\n');
    expect(asked('DBSIZE')).toBe(':2\r\n');
  });

  it('waits for the writes before it in its own turn', async () => {
    runner.turn(['SET', 'k', '1'], ['DBSIZE'], ['DEL', 'k'], ['DBSIZE']);
    expect(runner.replies()).toBe('');
    expect(await acknowledged()).toBe('+OK\r\n:1\r\n:1\r\n:0\r\n');
  });

  it('waits for what is left when later changes of the same keys are refused', async () => {
    runner.turn(['MSET', 'a', '1', 'b', '1']);
    const earlier = log.appends.length;
    log.refusal = FULL;
    runner.turn(['DEL', 'a', 'b'], ['SET', 'c', '1']);
    expect(log.appends.length).toBe(earlier);
    log.refusal = undefined;
    const other = new CommandRunner(runner);
    other.turn(['DBSIZE']);
    expect(other.replies()).toBe('');
    await acknowledged();
    expect(other.replies()).toBe(':2\r\n');
    expect(asked('DBSIZE')).toBe(':2\r\n');
  });
});
