import { Buffer } from 'node:buffer';
import { Deferred } from '@rdmc/common';
import type { LogEntry } from '@rdmc/tailwind';
import { refusal } from '@rdmc/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SNAPSHOT_PAGE_BYTES } from '../src/limits.js';
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

/** Acknowledges when the test says so. */
class HeldLog extends RecordedLog {
  readonly #held = new Deferred<void>();

  override append(entries: readonly LogEntry[]): CommitTicket {
    return { ...super.append(entries), acknowledged: this.#held.promise };
  }

  acknowledgeAll(): void {
    this.#held.resolve();
  }
}

/** A store, and its pages. */
function rig() {
  const log = new HeldLog();
  const store = new Store(new Keyspace(), log);
  const lease = { valid: true };
  const table = { owner: (slot: number) => (slot % 2 === 0 ? 1 : 2), epoch: 7 };
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
});
