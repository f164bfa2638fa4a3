/** The keys of slots at two servers, while they are copied, and what recoveries of both logs find afterwards. */

import fc from 'fast-check';
import { expect, it } from 'vitest';
import { u32 } from '../src/cluster/peer-frames.js';
import { Floors, type Tenure } from '../src/cluster/tenure.js';
import { Incoming } from '../src/handover/incoming.js';
import { IncomingSlots } from '../src/handover/incoming-slots.js';
import { SlotCopy } from '../src/handover/slot-copy.js';
import { NO_EXPIRY } from '../src/store/entry.js';
import { decodeKey } from '../src/store/record.js';
import { slotOf } from '../src/store/slot.js';
import { CommandRunner } from './support/command-runner.js';
import { EntryMemory } from './support/entry-memory.js';
import { HashModel, MODEL_KEYS, type ModelValue, modelCommand } from './support/hash-model.js';
import { ManualLog } from './support/manual-server.js';
import { contentOf, RecordedLog, recover, slotOfKey } from './support/recorded-log.js';

/** `{a}c` is in the slot of `a`; `b` is in another one, which is not handed over. */
const SLOTS = [slotOfKey('a')];
const isMoved = (key: string): boolean => key !== 'b';
const NEVER = new AbortController().signal;

function moved(content: ReadonlyMap<string, ModelValue>): [string, ModelValue][] {
  return [...content].filter(([key]) => isMoved(key)).sort(([a], [b]) => (a < b ? -1 : 1));
}

/** When each key expires. */
function expiries({ keyspace }: CommandRunner): (number | undefined)[] {
  return MODEL_KEYS.filter(isMoved).map((key) => keyspace.get(SLOTS[0]!, key)?.expiresAt);
}

/** A transaction writes all keys, and nothing of it was done. */
function undo({ store }: CommandRunner): void {
  const work = (): void => {
    for (const key of MODEL_KEYS) store.put(slotOfKey(key), key, 'undone', NO_EXPIRY);
    throw new Error('for the test');
  };
  expect(() => store.atomically(work, () => {})).toThrow('for the test');
}

const step = fc.oneof(
  { weight: 6, arbitrary: modelCommand },
  { weight: 2, arbitrary: fc.constant('acknowledge') },
  { weight: 1, arbitrary: fc.constant('refuse') },
  { weight: 1, arbitrary: fc.constant('undo') },
  { weight: 3, arbitrary: fc.nat(120) },
);

it('a copy has what the source has acknowledged, whatever is written and refused meanwhile', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 15, maxLength: 60, size: 'max' }),
      fc.nat(15),
      async (steps, begin) => {
        const log = new ManualLog(undefined, new EntryMemory());
        const source = new CommandRunner(log);
        const target = new CommandRunner(new RecordedLog());
        const copy = new SlotCopy(source.store, SLOTS);
        const incoming = new IncomingSlots(target.store, new Set(SLOTS));
        const send = (): void => {
          for (const _ of incoming.apply(Buffer.concat([u32(1), copy.take()])));
          target.store.commit();
        };
        for (const [index, each] of steps.entries()) {
          if (index === begin) source.store.follow(copy);
          if (typeof each === 'number' && index >= begin) {
            copy.fill(each);
            send();
          } else if (each === 'acknowledge') log.acknowledge();
          else if (each === 'refuse')
            log.refuseAll(Object.assign(new Error('full'), { code: 'ERR_RDMC_LOG_FULL' }));
          else if (each === 'undo') undo(source);
          else if (Array.isArray(each)) source.turn(each);
          await new Promise(setImmediate);
        }
        log.acknowledge();
        await new Promise(setImmediate);
        source.store.follow(copy);
        copy.fill(Number.POSITIVE_INFINITY);
        send();
        expect(moved(contentOf(target.store))).toEqual(moved(contentOf(source.store)));
        expect(contentOf(target.store).has('b')).toBe(false);
        expect(expiries(target)).toEqual(expiries(source));
      },
    ),
    { numRuns: 200 },
  );
});

it('a key is copied although a transaction, which was undone, has written it while its slot was copied', async () => {
  const source = new CommandRunner(new RecordedLog());
  const target = new CommandRunner(new RecordedLog());
  const keys = Array.from({ length: 100 }, (_, number) => `{a}${number}`);
  for (const key of keys) source.run('SET', key, 'v'.repeat(100));
  const copy = new SlotCopy(source.store, SLOTS);
  source.store.follow(copy);
  copy.fill(1000);
  const work = (): void => {
    for (const key of keys) source.store.put(SLOTS[0]!, key, 'undone', NO_EXPIRY);
    throw new Error('for the test');
  };
  expect(() => source.store.atomically(work, () => {})).toThrow('for the test');
  copy.fill(Number.POSITIVE_INFINITY);
  const incoming = new IncomingSlots(target.store, new Set(SLOTS));
  for (const _ of incoming.apply(Buffer.concat([u32(1), copy.take()])));
  target.store.commit();
  await new Promise(setImmediate);
  expect(contentOf(target.store)).toEqual(contentOf(source.store));
});

it('what the log has not acknowledged is not copied, and is when it has', async () => {
  const log = new ManualLog();
  const source = new CommandRunner(log);
  const target = new CommandRunner(new RecordedLog());
  const copy = new SlotCopy(source.store, SLOTS);
  const incoming = new IncomingSlots(target.store, new Set(SLOTS));
  const send = (): string[] => {
    copy.fill(Number.POSITIVE_INFINITY);
    for (const _ of incoming.apply(Buffer.concat([u32(1), copy.take()])));
    target.store.commit();
    return [...contentOf(target.store).keys()];
  };
  source.store.follow(copy);
  source.turn(['SET', 'a', '1']);
  expect(send()).toEqual([]);
  log.refuseAll(Object.assign(new Error('full'), { code: 'ERR_RDMC_LOG_FULL' }));
  await new Promise(setImmediate);
  source.turn(['SET', '{a}c', '2']);
  expect(send()).toEqual([]);
  log.acknowledge();
  await new Promise(setImmediate);
  expect(send()).toEqual(['{a}c']);
});

/** A server, and the number of its log. */
interface Server {
  readonly logId: string;
  readonly log: RecordedLog;
  readonly runner: CommandRunner;
  readonly incoming: Incoming;
}

function server(logId: string): Server {
  const log = new RecordedLog();
  const runner = new CommandRunner(log);
  return { logId, log, runner, incoming: new Incoming(runner.store) };
}

/** What another server finds when it takes over the log by these records. */
async function replayed({ log, logId }: Server, tenure: Tenure): Promise<Map<string, ModelValue>> {
  const tenures: Tenure[] = Array(SLOTS[0]! + 1).fill({ ...tenure, logId: 'of nobody' });
  tenures[SLOTS[0]!] = tenure;
  const floors = Floors.of(tenures, logId);
  const entries = log.entries.filter(({ type, payload }) => {
    const { key, version } = decodeKey(type, payload)!;
    return floors.isReplayed(slotOf(key, 0, key.length), version);
  });
  return contentOf(await recover(entries));
}

const change = fc.oneof(
  { weight: 8, arbitrary: modelCommand.filter(([, key]) => isMoved(key!)) },
  { weight: 2, arbitrary: fc.constantFrom('hand over', 'cancel') },
  { weight: 2, arbitrary: fc.nat() },
);

it('a recovery finds the present tenure, after hand-overs to and fro, cancelled ones, and cleaning', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(change, { minLength: 15, maxLength: 60, size: 'max' }), async (changes) => {
      let [owner, other] = [server('1'), server('2')];
      let tenure: Tenure = { logId: '1', epoch: 0, floor: 0 };
      const model = new HashModel();
      for (const [number, each] of changes.entries()) {
        if (Array.isArray(each)) {
          owner.runner.run(...each);
          model.run(each);
        } else if (typeof each === 'number') {
          for (const { log, runner } of [owner, other])
            log.clean(runner.keyspace, (index) => ((each >> index) & 1) === 1);
        } else {
          const ranges = SLOTS.map((slot) => [slot, slot] as const);
          const { store } = owner.runner;
          const version = store.lastVersion;
          const session = 's';
          const floor = await other.incoming.begin({ number, ranges, session, version, bytes: 0 });
          const copy = new SlotCopy(store, SLOTS);
          copy.fill(Number.POSITIVE_INFINITY);
          other.incoming.take(Buffer.concat([u32(number), copy.take()]), session);
          await other.incoming.brought(
            { number, frames: 1, isLast: true, version: store.lastVersion },
            NEVER,
          );
          if (each === 'cancel') await other.incoming.drop(number);
          else {
            await store.forget(ranges);
            tenure = { logId: other.logId, epoch: number, floor };
            [owner, other] = [other, owner];
          }
        }
        expect(moved(await replayed(owner, tenure))).toEqual(moved(model.keys));
      }
      expect(moved(contentOf(owner.runner.store))).toEqual(moved(model.keys));
      expect(contentOf(other.runner.store).size).toBe(0);
    }),
    { numRuns: 60 },
  );
});
