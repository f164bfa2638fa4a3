/** Writes that the log refuses while its cleaner moves the entries that they supersede. */
import { setImmediate as turn } from 'node:timers/promises';
import { type AppendLocation, EntryType, type LogEntry } from '@rdmc/tailwind';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { CommitTicket } from '../src/log/commit-log.js';
import { StoreCleaner } from '../src/log/store-cleaner.js';
import { NO_EXPIRY } from '../src/store/entry.js';
import type { Hash } from '../src/store/hash.js';
import type { Keyspace } from '../src/store/keyspace.js';
import { CommandRunner } from './support/command-runner.js';
import { contentOf, RecordedLog, recover, slotOfKey } from './support/recorded-log.js';

interface Held {
  readonly entries: readonly LogEntry[];
  readonly ticket: { location: AppendLocation | undefined; acknowledged: Promise<void>; failure?: Error };
  readonly outcome: { readonly resolve: () => void; readonly reject: (error: Error) => void };
}

/** Segments of one append: all but the last are cleaned. */
class FullLog extends RecordedLog {
  /** Appends have a place, and wait for their acknowledgement. */
  isSlow = false;
  /** Appends wait for room. */
  isFull = false;
  /** Also segments with appends that are not acknowledged: a log does not clean these. */
  cleansAll = false;
  /** In order. */
  #held: Held[] = [];

  constructor() {
    super(1);
  }

  override append(entries: readonly LogEntry[]): CommitTicket {
    if (!this.isFull && !this.isSlow) return super.append(entries);
    let outcome!: Held['outcome'];
    const acknowledged = new Promise<void>((resolve, reject) => {
      outcome = { resolve, reject };
    });
    const location = this.isFull ? undefined : super.append(entries).location;
    const ticket: Held['ticket'] = { location, acknowledged };
    this.#held.push({ entries, ticket, outcome });
    return ticket;
  }

  get waiting(): number {
    return this.#held.length;
  }

  /** Those of them that have a place. */
  get placed(): number {
    return this.#held.filter(({ ticket }) => ticket.location).length;
  }

  /** The first of these have a place, and are acknowledged; the others wait. */
  async accept(count: number): Promise<void> {
    for (const { entries, ticket, outcome } of this.#held.splice(0, count)) {
      ticket.location ??= super.append(entries).location;
      outcome.resolve();
    }
    this.#look();
    await turn();
  }

  /** What waits for room is refused. */
  async refuse(): Promise<void> {
    const error = Object.assign(new Error('no room'), { code: 'ERR_RDMC_LOG_FULL' });
    for (const { ticket, outcome } of this.#held.splice(this.placed)) {
      ticket.failure = error;
      outcome.reject(error);
    }
    this.#look();
    await turn();
  }

  #look(): void {
    this.isSlow = this.placed > 0;
    this.isFull = this.waiting > this.placed;
  }

  protected override mayClean(segmentId: bigint): boolean {
    return this.cleansAll || !this.#held.some(({ ticket }) => ticket.location?.segmentId === segmentId);
  }
}

function runnerOf(log: FullLog): { keyspace: Keyspace; turn: (...lines: string[][]) => void } {
  const runner = new CommandRunner(log);
  return { keyspace: runner.keyspace, turn: (...lines) => runner.turn(...lines) };
}

/** With no write under way: the log was told of each entry that is not live, and of no other. The store knows the places of these. */
function expectExactGarbage(log: RecordedLog, keyspace: Keyspace): void {
  const cleaner = new StoreCleaner(keyspace, () => {});
  const places = new Set<number>();
  for (const { type, payload, location } of log.entries) {
    if (type !== EntryType.OBJECT) continue;
    const isLive = cleaner.isLive({ type, payload, offset: location.offset });
    expect(log.deadOffsets.has(location.offset)).toBe(!isLive);
    if (isLive) places.add(location.offset);
  }
  const known = [...keyspace.entries(slotOfKey('{k}'))].flatMap(([, head]) =>
    typeof head.value === 'object' ? [head, ...head.value.all()] : [head],
  );
  expect(new Set(known.map(({ offset }) => offset))).toEqual(places);
}

type Step = [
  what: 'set' | 'append' | 'del' | 'hset' | 'hdel' | 'undo' | 'clean' | 'slow' | 'fill' | 'accept' | 'refuse',
  key: number,
];

class Subject {
  readonly log = new FullLog();
  readonly runner = new CommandRunner(this.log);
  /** What is acknowledged, and what is there after each of the writes that wait. */
  #states: Map<string, unknown>[] = [new Map()];
  #count = 0;

  async step(what: Step[0], number: number): Promise<void> {
    const [key, hash] = [`{k}${number}`, `{k}h${number}`];
    this.#count += 1;
    const value = `value ${this.#count}`;
    if (what === 'set') this.runner.turn(['SET', key, value]);
    else if (what === 'append') this.runner.turn(['APPEND', key, value]);
    else if (what === 'del') this.runner.turn(['DEL', key, hash]);
    else if (what === 'hset') this.runner.turn(['HSET', hash, String(this.#count % 3), value]);
    else if (what === 'hdel') this.runner.turn(['HDEL', hash, String(this.#count % 3)]);
    else if (what === 'undo') this.#undone(key);
    else if (what === 'clean') this.log.clean(this.runner.keyspace, () => true);
    else if (what === 'slow') this.log.isSlow = true;
    else if (what === 'fill') this.log.isFull = true;
    else if (what === 'accept') await this.#accept(number);
    else await this.refuse();
    this.#check();
  }

  async refuse(): Promise<void> {
    await this.log.refuse();
    const { placed } = this.log;
    expect(contentOf(this.runner.store)).toEqual(this.#states[placed]);
    this.#states.splice(placed + 1);
    if (placed === 0) expectExactGarbage(this.log, this.runner.keyspace);
  }

  async #accept(most: number): Promise<void> {
    const count = Math.min(most, this.log.waiting);
    await this.log.accept(count);
    this.#states.splice(0, count);
    expect(contentOf(this.runner.store)).toEqual(this.#states.at(-1));
  }

  async recovered(): Promise<Map<string, unknown>> {
    return contentOf(await recover(this.log.entries));
  }

  #check(): void {
    const { keyspace, store } = this.runner;
    const content = contentOf(store);
    if (this.log.waiting === 0) this.#states = [content];
    else if (this.log.waiting === this.#states.length) this.#states.push(content);
    if (this.log.waiting > 0) return;
    const strings = [...content].filter(([, value]) => typeof value === 'string');
    // All that can be in the log's memory only is there.
    expect([keyspace.indexed, keyspace.size]).toEqual([strings.length, content.size]);
  }

  #undone(key: string): void {
    const { store } = this.runner;
    const work = (): void => {
      store.put(slotOfKey(key), key, 'undone', NO_EXPIRY);
      throw new Error('for the test');
    };
    expect(() => store.atomically(work, () => {})).toThrow('for the test');
  }
}

it('bring back what was there, wherever it lies by then, and the heap does not grow', async () => {
  const what = fc.constantFrom<Step[0]>(
    ...([
      'set',
      'set',
      'set',
      'append',
      'del',
      'hset',
      'hdel',
      'undo',
      'clean',
      'clean',
      'slow',
      'fill',
      'accept',
      'refuse',
      'refuse',
    ] as const),
  );
  const steps = fc.array(fc.tuple(what, fc.nat(2)), { maxLength: 80 });
  await fc.assert(
    fc.asyncProperty(steps, async (all) => {
      const subject = new Subject();
      for (const [each, key] of all) await subject.step(each, key);
      await subject.refuse();
      await subject.step('accept', 100);
      await subject.refuse();
      for (let round = 0; round < 2; round += 1) await subject.step('clean', 0);
      expect(await subject.recovered()).toEqual(contentOf(subject.runner.store));
    }),
    { numRuns: 1000 },
  );
}, 120_000);

/** The places of all objects that the log has. */
const offsetsOf = (log: RecordedLog): number[] =>
  log.entries.filter(({ type }) => type === EntryType.OBJECT).map(({ location }) => location.offset);

it('whose log has room later: what they supersede is garbage where the cleaner has put it', async () => {
  const log = new FullLog();
  const { keyspace, turn: run } = runnerOf(log);
  run(['SET', 'k', 'old']);
  run(['SET', 'other', 'v']);
  log.isFull = true;
  run(['SET', 'k', 'new']);
  log.clean(keyspace, () => true);
  expect(log.deadOffsets.size).toBe(0);
  const moved = offsetsOf(log).at(-1)!;
  await log.accept(1);
  expect([...log.deadOffsets]).toContain(moved);
});

it('that have a place: what they supersede is garbage at once', async () => {
  const log = new FullLog();
  const { keyspace, turn: run } = runnerOf(log);
  run(['SET', 'k', 'old']);
  let acknowledge!: () => void;
  const acknowledged = new Promise<void>((resolve) => {
    acknowledge = resolve;
  });
  const append = log.append.bind(log);
  log.append = (entries) => ({ ...append(entries), acknowledged });
  run(['SET', 'k', 'new']);
  log.clean(keyspace, () => true);
  const moved = offsetsOf(log).at(-1)!;
  expect(log.deadOffsets.has(moved)).toBe(true);
  acknowledge();
  await turn();
  expect([keyspace.indexed, keyspace.get(slotOfKey('k'), 'k')?.value]).toEqual([1, 'new']);
});

it('behind one that is acknowledged: its value is read from the log', async () => {
  const log = new FullLog();
  const { keyspace, turn: run } = runnerOf(log);
  log.isFull = true;
  run(['SET', 'k', 'kept']);
  run(['SET', 'k', 'refused']);
  await log.accept(1);
  expect(keyspace.indexed).toBe(0);
  await log.refuse();
  expect([keyspace.indexed, keyspace.get(slotOfKey('k'), 'k')?.value]).toEqual([1, 'kept']);
});

it('after a move: its value is read where it lies by then', async () => {
  const log = new FullLog();
  const { keyspace, turn: run } = runnerOf(log);
  run(['SET', 'k', 'kept']);
  run(['SET', 'other', 'v']);
  log.isFull = true;
  run(['SET', 'k', 'refused']);
  log.clean(keyspace, () => true);
  await log.refuse();
  expect([keyspace.indexed, keyspace.get(slotOfKey('k'), 'k')?.value]).toEqual([2, 'kept']);
});

it('of a field: it is where the cleaner has put it', async () => {
  const log = new FullLog();
  const { keyspace, turn: run } = runnerOf(log);
  run(['HSET', 'h', 'f', 'old']);
  run(['SET', 'other', 'v']);
  log.isFull = true;
  run(['HSET', 'h', 'f', 'new']);
  log.clean(keyspace, () => true);
  await log.refuse();
  const hash = keyspace.get(slotOfKey('h'), 'h')!.value as Hash;
  expect(hash.get('f')).toMatchObject({ value: 'old' });
  expect(offsetsOf(log)).toContain(hash.get('f')!.offset);
});

/** The versions of a key that the log has, as offsets, and which of them are live. */
function liveOffsets(log: RecordedLog, keyspace: Keyspace): boolean[] {
  const cleaner = new StoreCleaner(keyspace, () => {});
  return log.entries
    .filter(({ type }) => type === EntryType.OBJECT)
    .map(({ type, payload, location }) => cleaner.isLive({ type, payload, offset: location.offset }));
}

it('keep one earlier entry of a string, and the last acknowledged one only', async () => {
  const log = new FullLog();
  const { keyspace, turn: run } = runnerOf(log);
  for (const value of ['1', '2', '3']) run(['SET', 'k', value]);
  log.isFull = true;
  for (const value of ['4', '5', '6']) run(['SET', 'k', value]);
  expect(liveOffsets(log, keyspace)).toEqual([false, false, true]);
  await log.accept(2);
  expect(liveOffsets(log, keyspace)).toEqual([false, false, false, false, true]);
  log.clean(keyspace, () => true);
  await log.refuse();
  expect(keyspace.get(slotOfKey('k'), 'k')?.value).toBe('5');
  expectExactGarbage(log, keyspace);
});

it('that come after one that is acknowledged: that one is kept, and the entries before it are not', async () => {
  for (const words of [
    ['SET', 'k'],
    ['HSET', 'k', 'f'],
  ]) {
    const log = new FullLog();
    const { keyspace, turn: run } = runnerOf(log);
    run([...words, '1']);
    const head = words[0] === 'HSET' ? [true] : [];
    log.isSlow = true;
    run([...words, '2']);
    run([...words, '3']);
    log.isFull = true;
    run([...words, '4']);
    expect(liveOffsets(log, keyspace)).toEqual([...head, true, true, true]);
    await log.accept(1);
    expect(liveOffsets(log, keyspace)).toEqual([...head, false, true, true]);
    await log.refuse();
    expect(liveOffsets(log, keyspace)).toEqual([...head, false, true, true]);
    await log.accept(1);
    expect(liveOffsets(log, keyspace)).toEqual([...head, false, false, true]);
    expectExactGarbage(log, keyspace);
  }
});

it('that follow the refusal, while one before it is not acknowledged, are taken', async () => {
  const log = new FullLog();
  const { keyspace, turn: run } = runnerOf(log);
  log.isSlow = true;
  run(['SET', '{k}1', 'v']);
  log.isFull = true;
  run(['SET', '{k}2', 'v']);
  await log.refuse();
  run(['SET', '{k}3', 'v']);
  await log.accept(2);
  expect([...keyspace.keys(slotOfKey('{k}'))].sort()).toEqual(['{k}1', '{k}3']);
});

it('of whole hashes do not keep what was removed before, and keep what is newer', async () => {
  const log = new FullLog();
  const { keyspace, turn: run } = runnerOf(log);
  run(['HSET', 'h', 'f', '1', 'g', '1']);
  run(['HDEL', 'h', 'g']);
  // The head, `f`, and `g`, which was removed.
  expect(liveOffsets(log, keyspace)).toEqual([true, true, false]);
  log.isSlow = true;
  run(['DEL', 'h']);
  run(['HSET', 'h', 'f', '2', 'g', '2']);
  expect(liveOffsets(log, keyspace)).toEqual([true, true, false, true, true, true]);
  run(['DEL', 'h']);
  expect(liveOffsets(log, keyspace)).toEqual([true, true, false, true, true, true]);
  await log.accept(3);
  expect(liveOffsets(log, keyspace)).toEqual([false, false, false, false, false, false]);
  run(['SET', 'h', 'string']);
  await log.accept(1);
  log.isSlow = true;
  run(['DEL', 'h']);
  expect(liveOffsets(log, keyspace).slice(3)).toEqual([false, false, false, true]);
  run(['HSET', 'h', 'f', '3']);
  expect(liveOffsets(log, keyspace).slice(3)).toEqual([false, false, false, true, true, true]);
});

it('behind some with a place: these are found where the cleaner has put them, also before their acknowledgement', async () => {
  const log = new FullLog();
  const { keyspace, turn: run } = runnerOf(log);
  log.cleansAll = true;
  run(['HSET', '{k}h', 'f', '1']);
  log.isSlow = true;
  run(['DEL', '{k}h']);
  run(['HSET', '{k}h', 'f', '2']);
  run(['SET', '{k}', '2']);
  log.isFull = true;
  run(['HSET', '{k}h', 'f', '3']);
  run(['SET', '{k}', '3']);
  log.clean(keyspace, () => true);
  await log.refuse();
  await log.accept(3);
  expect(keyspace.get(slotOfKey('{k}'), '{k}')?.value).toBe('2');
  expectExactGarbage(log, keyspace);
});

it('keep one earlier entry of a field', () => {
  const log = new FullLog();
  const { keyspace, turn: run } = runnerOf(log);
  for (const value of ['1', '2']) run(['HSET', 'h', 'f', value]);
  log.isFull = true;
  run(['HSET', 'h', 'f', '3']);
  // The head, and two versions of the field.
  expect(liveOffsets(log, keyspace)).toEqual([true, false, true]);
  run(['DEL', 'h']);
  run(['HSET', 'h', 'f', '4']);
  expect(liveOffsets(log, keyspace)).toEqual([true, false, true]);
});

it('of a whole hash: its fields are where the cleaner has put them', async () => {
  const log = new FullLog();
  const { keyspace, turn: run } = runnerOf(log);
  run(['HSET', '{k}h', 'f', 'old', 'g', 'old']);
  run(['SET', '{k}', 'v']);
  for (const write of [
    ['DEL', '{k}h'],
    ['SET', '{k}h', 'v'],
    ['HSET', '{k}h', 'f', 'new'],
  ]) {
    log.isFull = true;
    if (write[0] === 'HSET') run(['DEL', '{k}h']);
    run(write);
    log.clean(keyspace, () => true);
    await log.refuse();
    expectExactGarbage(log, keyspace);
  }
});

it('that the log has refused a moment ago: what comes before the store hears of it is refused with them', async () => {
  const log = new FullLog();
  const runner = new CommandRunner(log);
  runner.turn(['SET', 'k', 'old']);
  log.isFull = true;
  runner.turn(['SET', 'k', 'refused']);
  const refusing = log.refuse();
  // The log has room: it would take this one, which depends on the one before.
  runner.turn(['APPEND', 'k', ' and more']);
  await refusing;
  expect(runner.keyspace.get(slotOfKey('k'), 'k')?.value).toBe('old');
  expect(contentOf(await recover(log.entries))).toEqual(new Map([['k', 'old']]));
  runner.turn(['SET', 'k', 'new']);
  expect(contentOf(await recover(log.entries))).toEqual(new Map([['k', 'new']]));
});
