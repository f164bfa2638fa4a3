import { Buffer } from 'node:buffer';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Deferred } from '@rdmc/common';
import type { LogEntry } from '@rdmc/tailwind';
import { refusal, temporaryDirectory } from '@rdmc/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ClusterStatus } from '../src/admin/status.js';
import type { Connection } from '../src/client/connection.js';
import { SlotTable } from '../src/cluster/slot-table.js';
import { SNAPSHOT_PAGE_BYTES, SNAPSHOT_RETRY_MS } from '../src/limits.js';
import type { CommitTicket } from '../src/log/commit-log.js';
import { Coverage } from '../src/snapshot/coverage.js';
import {
  decodePage,
  encodePage,
  encodeSection,
  FIRST,
  LAST,
  recordsOf,
  sectionsIn,
} from '../src/snapshot/sections.js';
import { SnapshotService } from '../src/snapshot/snapshot-service.js';
import { takeSnapshot } from '../src/snapshot/take.js';
import { Keyspace } from '../src/store/keyspace.js';
import { decodeRecord } from '../src/store/record.js';
import { slotOf } from '../src/store/slot.js';
import { Store } from '../src/store/store.js';
import { RecordedLog } from './support/recorded-log.js';

const WHOLE = FIRST | LAST;

describe('sections', () => {
  it('are read as they were written', () => {
    const sections = fc.array(
      fc.record({
        slot: fc.nat(16_383),
        flags: fc.nat(3),
        epoch: fc.nat(2 ** 32 - 1),
        version: fc.nat(),
        records: fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes)),
      }),
    );
    fc.assert(
      fc.property(sections, fc.nat(16_384), fc.nat(2 ** 32 - 1), (given, slot, after) => {
        const page = encodePage(
          { slot, after },
          given.map(({ records, ...head }) => encodeSection(head, records)),
        );
        const { next, sections: bytes } = decodePage(page);
        expect(next).toEqual({ slot, after });
        expect([...sectionsIn(bytes)].map(({ offset: _, ...section }) => section)).toEqual(given);
      }),
    );
  });

  it('that are cut off are refused', () => {
    const head = { slot: 1, flags: WHOLE, epoch: 1, version: 1 };
    const page = encodePage({ slot: 2, after: 0 }, [encodeSection(head, Buffer.from('records'))]);
    const malformed = refusal('ERR_RDMC_KV_PROTOCOL');
    for (let length = 0; length < page.length; length += 1) {
      // A page without sections is valid.
      if (length !== 8) expect(() => decodePage(page.subarray(0, length))).toThrow(malformed);
    }
    expect(() => [...recordsOf(Buffer.from([1, 9, 0, 0, 0]))]).toThrow(malformed);
    const beyond = encodeSection({ ...head, slot: 16_384 }, Buffer.alloc(0));
    expect(() => [...sectionsIn(beyond)]).toThrow(malformed);
  });
});

describe('the copy of a slot that counts', () => {
  it('is the one with the higher epoch, in either order', () => {
    for (const servers of [
      [1, 2],
      [2, 1],
    ]) {
      const coverage = new Coverage<string>();
      for (const server of servers)
        coverage.add(server, { slot: 5, flags: WHOLE, epoch: server }, `of ${server}`);
      expect(coverage.parts(5)).toEqual(['of 2']);
    }
  });

  it('is whole: a part of a slot that moved away is dropped', () => {
    const coverage = new Coverage<string>();
    coverage.add(1, { slot: 5, flags: FIRST, epoch: 1 }, 'a');
    coverage.add(2, { slot: 5, flags: FIRST, epoch: 2 }, 'b');
    expect(coverage.missing).toContain(5);
    coverage.add(2, { slot: 5, flags: LAST, epoch: 2 }, 'c');
    // What a server gives of a slot without its beginning does not count.
    coverage.add(3, { slot: 5, flags: LAST, epoch: 3 }, 'd');
    expect(coverage.parts(5)).toEqual(['b', 'c']);
    expect(coverage.missing).not.toContain(5);
    expect(coverage.missing.length).toBe(16_383);
  });
});

/** Acknowledges, or refuses, when the test says so. */
class HeldLog extends RecordedLog {
  readonly #held = new Deferred<void>();
  isFull = false;

  override append(entries: readonly LogEntry[]): CommitTicket {
    if (this.isFull) throw new Error('full');
    return { ...super.append(entries), acknowledged: this.#held.promise };
  }

  acknowledgeAll(): void {
    this.#held.resolve();
  }

  refuseAll(): void {
    this.#held.reject(new Error('refused'));
  }
}

const alternating = { owner: (slot: number) => (slot % 2 === 0 ? 1 : 2), epoch: 7 };

/** A store, and its pages. */
function rig(table: Pick<SlotTable, 'owner' | 'epoch'> = alternating) {
  const log = new HeldLog();
  const store = new Store(new Keyspace(), log);
  const lease = { valid: true };
  const service = new SnapshotService({ self: 1, store, table, lease, now: () => 1000 });
  return { log, store, lease, service };
}

function slotOfText(key: string): number {
  const bytes = Buffer.from(key, 'latin1');
  return slotOf(bytes, 0, bytes.length);
}

/** A tag whose slot server 1 has. */
const TAG = Array.from({ length: 20 }, (_, index) => `{${index}}`).find((tag) => slotOfText(tag) % 2 === 0)!;

/** Keys of one slot of server 1. */
function keysOfOneSlot(count: number): { slot: number; keys: string[] } {
  return { slot: slotOfText(TAG), keys: Array.from({ length: count }, (_, index) => `${TAG}:${index}`) };
}

/** A page of a slot with one key is refused, since the log refuses a write of that key that it does not have yet. */
async function refusedWith(write: (of: { store: Store; slot: number; key: string }) => void) {
  const { store, service, log } = rig();
  const { slot, keys } = keysOfOneSlot(1);
  const key = keys[0]!;
  store.put(slot, key, 'value', 0);
  store.commit();
  log.acknowledgeAll();
  await store.settled();
  const refusing = new HeldLog();
  log.append = (entries) => refusing.append(entries);
  write({ store, slot, key });
  store.commit();
  const page = service.page({ slot, after: 0 }, slot);
  refusing.refuseAll();
  await expect(page).rejects.toThrow('refused');
  return { store, slot, key };
}

async function recordsOfPages(service: SnapshotService) {
  const records: { slot: number; key: string; field?: string | undefined; value: unknown }[] = [];
  let pages = 0;
  for (let place = { slot: 0, after: 0 }; place.slot < 16_384; pages += 1) {
    const { next, sections } = decodePage(await service.page(place));
    for (const section of sectionsIn(sections)) {
      for (const { type, payload } of recordsOf(section.records)) {
        const { key, field, value } = decodeRecord(type, payload)!;
        records.push({ slot: section.slot, key, field, value });
      }
    }
    place = next;
  }
  return { records, pages };
}

describe('pages', () => {
  it('have every key of the slots that the server owns once, and none of others or that expired', async () => {
    const { store, service, log } = rig();
    const { slot, keys } = keysOfOneSlot(40);
    const value = 'x'.repeat(SNAPSHOT_PAGE_BYTES / 8);
    for (const key of keys) store.put(slot, key, value, 0);
    store.put(slot, `${TAG}:expired`, 'x', 999);
    store.put(slot + 1, 'of another server', 'x', 0);
    expect(store.commit()).toBeUndefined();
    log.acknowledgeAll();
    const { records, pages } = await recordsOfPages(service);
    expect(pages).toBeGreaterThan(4);
    expect(records.map(({ key }) => key).sort()).toEqual([...keys].sort());
    expect(new Set(records.map((record) => record.slot))).toEqual(new Set([slot]));
  });

  it('have a hash whole, whatever its size', async () => {
    const { store, service, log } = rig();
    const { slot, keys } = keysOfOneSlot(1);
    const hash = store.putHash(slot, keys[0]!, 0);
    const fields = Array.from({ length: 30 }, (_, index) => `f${index}`);
    for (const field of fields) store.putField(hash, keys[0]!, field, 'x'.repeat(SNAPSHOT_PAGE_BYTES / 10));
    store.commit();
    log.acknowledgeAll();
    const { sections } = decodePage(await service.page({ slot, after: 0 }, slot));
    const [only, ...more] = [...sectionsIn(sections)];
    expect([more.length, only!.flags]).toEqual([0, WHOLE]);
    expect([...recordsOf(only!.records)].length).toBe(1 + fields.length);
  });

  it('wait for the log, and need a lease', async () => {
    const { store, service, log, lease } = rig();
    const { slot, keys } = keysOfOneSlot(1);
    store.put(slot, keys[0]!, 'value', 0);
    store.commit();
    let isDone = false;
    const page = service.page({ slot, after: 0 }).then(() => {
      isDone = true;
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(isDone).toBe(false);
    log.acknowledgeAll();
    await page;
    lease.valid = false;
    await expect(service.page({ slot, after: 0 })).rejects.toEqual(refusal('ERR_RDMC_KV_SLOT_UNAVAILABLE'));
  });

  it('do not have a slot from the moment on at which a hand-over stops it, until the slot table says who has it', async () => {
    const table = SlotTable.of(1);
    const { service } = rig(table);
    const slots = async (): Promise<number[]> => {
      const { sections } = decodePage(await service.page({ slot: 4, after: 0 }, 6));
      return [...sectionsIn(sections)].map(({ slot }) => slot);
    };
    const before = await slots();
    table.stop(9, [[5, 5]]);
    const stopped = await slots();
    table.resume(9);
    const kept = await slots();
    table.stop(10, [[5, 5]]);
    table.moved(10, 7);
    // A table that was on its way when the slot moved names the former owner.
    table.update(7, [{ from: 0, to: 16_383, member: 1 }]);
    const moved = await slots();
    table.update(8, [{ from: 0, to: 16_383, member: 1 }]);
    expect({ before, stopped, kept, moved, back: await slots() }).toEqual({
      before: [4, 5, 6],
      stopped: [4, 6],
      kept: [4, 5, 6],
      moved: [4, 6],
      back: [4, 5, 6],
    });
  });

  it('are refused with a removal that the log refuses: the key is there again', async () => {
    const { store, slot, key } = await refusedWith(({ store, slot, key }) => store.remove(slot, key));
    expect(store.keyspace.get(slot, key)?.value).toBe('value');
  });

  it('are refused with an expiry that the log refuses, where it is over: the key is there again', async () => {
    await refusedWith(({ store, slot, key }) => store.put(slot, key, 'value', 999));
  });

  it('are refused with a write of the same turn that the log does not take', async () => {
    const { store, service, log } = rig();
    const { slot, keys } = keysOfOneSlot(1);
    store.put(slot, keys[0]!, 'value', 0);
    const page = service.page({ slot, after: 0 }, slot);
    log.isFull = true;
    expect(store.commit()).toBeInstanceOf(Error);
    log.isFull = false;
    store.put(slot, 'later', 'value', 0);
    store.commit();
    log.acknowledgeAll();
    await expect(page).rejects.toThrow('full');
  });
});

describe('a snapshot of two servers', () => {
  const half = (server: number): [number, number] => (server === 1 ? [0, 8191] : [8192, 16_383]);

  /** Pages as one server of two gives them: its half of the slots, without keys. */
  function pageOf(server: number): Buffer {
    const [from, to] = half(server);
    const sections = Array.from({ length: to - from + 1 }, (_, index) =>
      encodeSection({ slot: from + index, flags: WHOLE, epoch: 1, version: 1 }, Buffer.alloc(0)),
    );
    return encodePage({ slot: to + 1, after: 0 }, sections);
  }

  it.each<[string, string, readonly string[]]>([
    [
      'goes on with the next round',
      'UNAVAILABLE ERR_RDMC_KV_SLOT_UNAVAILABLE: no lease',
      ['page of 2', 'status'],
    ],
    ['fails', 'malformed', ['page of 2', 'failed']],
  ])('waits for the other server, and then %s, when one refuses', async (_what, refused, expected) => {
    const directory = join(temporaryDirectory('kv-snapshot-two'), 'snapshot');
    const events: string[] = [];
    const next = new Deferred<void>();
    const tell = (event: string): void => {
      events.push(event);
      if (event !== 'page of 2') next.resolve();
    };
    let isFirst = true;
    let rounds = 0;
    const commandOf = async (server: number): Promise<string> => {
      if (server === 1 && isFirst) {
        isFirst = false;
        throw new Error(refused);
      }
      if (server === 2) {
        // Time in which the next event happens where it does not wait.
        await Promise.race([next.promise, delay(2 * SNAPSHOT_RETRY_MS)]);
        tell('page of 2');
      }
      return pageOf(server).toString('latin1');
    };
    const servers = [1, 2].map((server) => ({
      server,
      slots: [half(server)],
      address: { host: '', port: server },
    }));
    const access = {
      status: async () => {
        rounds += 1;
        if (rounds > 1) tell('status');
        return { servers } as unknown as ClusterStatus;
      },
      connect: async ({ port }: { port: number }) =>
        ({ command: () => commandOf(port), close() {} }) as unknown as Connection,
    };
    const taken = await takeSnapshot(access, directory).catch(() => tell('failed'));
    expect(events).toEqual(expected);
    expect(taken === undefined ? readdirSync(directory).length : taken.files).toBe(
      taken === undefined ? 0 : 2,
    );
  });
});
