/** Writes that the log refuses while its cleaner moves the entries that they supersede. */
import { setImmediate as turn } from 'node:timers/promises';
import { type AppendLocation, EntryType, type LogEntry } from '@rdmc/tailwind';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { CommitTicket } from '../src/log/commit-log.js';
import { Displaced } from '../src/store/displaced.js';
import { NO_EXPIRY } from '../src/store/entry.js';
import type { Hash } from '../src/store/hash.js';
import type { Keyspace } from '../src/store/keyspace.js';
import { CommandRunner } from './support/command-runner.js';
import { contentOf, RecordedLog, recover, slotOfKey } from './support/recorded-log.js';

interface Held {
  readonly entries: readonly LogEntry[];
  readonly ticket: { location: AppendLocation | undefined; acknowledged: Promise<void> };
  readonly outcome: { readonly resolve: () => void; readonly reject: (error: Error) => void };
}

/** Appends wait for room while it is full. Segments of one append: all but the last are cleaned. */
class FullLog extends RecordedLog {
  isFull = false;
  #held: Held[] = [];

  constructor() {
    super(1);
  }

  override append(entries: readonly LogEntry[]): CommitTicket {
    if (!this.isFull) return super.append(entries);
    let outcome!: Held['outcome'];
    const acknowledged = new Promise<void>((resolve, reject) => {
      outcome = { resolve, reject };
    });
    const ticket: Held['ticket'] = { location: undefined, acknowledged };
    this.#held.push({ entries, ticket, outcome });
    return ticket;
  }

  get waiting(): number {
    return this.#held.length;
  }

  /** The first of these get a place, and are acknowledged; the others wait. */
  async accept(count: number): Promise<void> {
    for (const { entries, ticket, outcome } of this.#held.splice(0, count)) {
      ticket.location = super.append(entries).location;
      outcome.resolve();
    }
    this.isFull = this.#held.length > 0;
    await turn();
  }

  /** What waits is refused. */
  async refuse(): Promise<void> {
    this.isFull = false;
    const error = Object.assign(new Error('no room'), { code: 'ERR_RDMC_LOG_FULL' });
    for (const { outcome } of this.#held.splice(0)) outcome.reject(error);
    await turn();
  }
}

function runnerOf(log: FullLog): { keyspace: Keyspace; turn: (...lines: string[][]) => void } {
  const runner = new CommandRunner(log);
  return { keyspace: runner.keyspace, turn: (...lines) => runner.turn(...lines) };
}

type Step = [
  what: 'set' | 'append' | 'del' | 'hset' | 'hdel' | 'undo' | 'clean' | 'fill' | 'accept' | 'refuse',
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
    else if (what === 'fill') this.log.isFull = true;
    else if (what === 'accept') await this.#accept(number);
    else await this.refuse();
    this.#check();
  }

  async refuse(): Promise<void> {
    await this.log.refuse();
    expect(contentOf(this.runner.store)).toEqual(this.#states[0]);
    this.#states.splice(1);
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
    // All that can be in the log's memory only is there, and none of that is garbage.
    expect([keyspace.indexed, keyspace.size]).toEqual([strings.length, content.size]);
    for (const [key] of strings) {
      const { offset } = keyspace.get(slotOfKey(key), key)!;
      expect(this.log.deadOffsets).not.toContain(offset);
    }
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
  expect([log.deadOffsets.has(moved), keyspace.displaced.size]).toEqual([true, 0]);
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

it('do not leave a place for each entry that was moved', () => {
  const displaced = new Displaced();
  for (let version = 1; version <= 100_000; version += 1)
    displaced.moved(version, { segmentId: 1n, offset: version }, version, version - 10);
  expect(displaced.size).toBeLessThan(5000);
  let place: unknown;
  const entry = (version: number) => ({
    version,
    locate: (at: unknown) => {
      place = at;
    },
  });
  displaced.relocate(entry(1));
  expect(place).toBeUndefined();
  displaced.relocate(entry(99_995));
  expect(place).toMatchObject({ segmentId: 1n, offset: 99_995 });
});
