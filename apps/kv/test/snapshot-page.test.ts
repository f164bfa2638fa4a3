/** Pages of a snapshot with large hashes, which are encoded in many turns. */
import { Buffer } from 'node:buffer';
import { readdirSync } from 'node:fs';
import { setImmediate as turn } from 'node:timers/promises';
import type { LogEntry } from '@rdmc/tailwind';
import { refusal, temporaryDirectory } from '@rdmc/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ClusterStatus } from '../src/admin/status.js';
import type { Connection } from '../src/client/connection.js';
import { KvError } from '../src/errors.js';
import { SNAPSHOT_STEP_BYTES } from '../src/limits.js';
import { NoLog } from '../src/log/no-log.js';
import { PageWriter } from '../src/snapshot/page-writer.js';
import { decodePage, FIRST, LAST, recordsOf, sectionsIn } from '../src/snapshot/sections.js';
import { SnapshotService } from '../src/snapshot/snapshot-service.js';
import { takeSnapshot } from '../src/snapshot/take.js';
import { Keyspace } from '../src/store/keyspace.js';
import {
  decodeRecord,
  encodeField,
  encodeHead,
  encodeKeyObject,
  type KeyRecord,
} from '../src/store/record.js';
import { Store } from '../src/store/store.js';

const SLOT = 5;
const FIELDS = 20_000;
const place = { slot: SLOT, after: 0 };

/** A store with a large hash, and its pages. */
function rig(lease: { valid: boolean } = { valid: true }) {
  const store = new Store(new Keyspace(), new NoLog());
  const table = { owner: () => 1, epoch: 1 };
  const service = new SnapshotService({ self: 1, store, table, lease });
  const hash = store.putHash(SLOT, 'large', 0);
  for (let i = 0; i < FIELDS; i += 1) store.putField(hash, 'large', `field:${i}`, String(i));
  store.commit();
  return { store, service, hash };
}

function recordsIn(page: Buffer): KeyRecord[] {
  return [...sectionsIn(decodePage(page).sections)].flatMap(({ records }) =>
    [...recordsOf(records)].map(({ type, payload }) => decodeRecord(type, payload)!),
  );
}

function valuesIn(page: Buffer): Map<string, unknown> {
  return new Map(
    recordsIn(page).flatMap(({ field, value }) => (field === undefined ? [] : [[field, value]])),
  );
}

describe('the page of a large hash', () => {
  it('leaves other work a turn between its steps', async () => {
    const { service } = rig();
    let page: Buffer | undefined;
    void service.page(place, SLOT).then((made) => {
      page = made;
    });
    let turns = 0;
    for (; page === undefined; turns += 1) await turn();
    expect(turns).toBeGreaterThanOrEqual(Math.floor(page.length / SNAPSHOT_STEP_BYTES));
    expect(page.length).toBeGreaterThan(10 * SNAPSHOT_STEP_BYTES);
  });

  it('has the hash as it was when it was read, and with a lease of that moment', async () => {
    const lease = { valid: true };
    const { service, store, hash } = rig(lease);
    const page = service.page(place, SLOT);
    lease.valid = false;
    store.putField(hash, 'large', 'field:19999', 'changed');
    store.putField(hash, 'large', 'added', 'later');
    store.removeField(hash, 'large', 'field:19998');
    store.commit();
    await turn();
    store.remove(SLOT, 'large');
    store.commit();
    const values = valuesIn(await page);
    expect(values.size).toBe(FIELDS);
    expect([values.get('field:19998'), values.get('field:19999')]).toEqual(['19998', '19999']);
  });

  it('is made alone: the next one is read when it is done', async () => {
    const { service, store } = rig();
    const first = service.page(place, SLOT);
    const second = service.page({ slot: SLOT + 1, after: 0 }, SLOT + 1);
    store.put(SLOT + 1, 'key', 'written meanwhile', 0);
    store.commit();
    await first;
    expect(recordsIn(await second).map(({ value }) => value)).toEqual(['written meanwhile']);
  });

  it('is refused, and the next one is made, where the lease is over', async () => {
    let asked = 0;
    const lease = {
      get valid() {
        asked += 1;
        return asked > 1;
      },
    };
    const { service } = rig(lease);
    const first = service.page(place, SLOT);
    const second = service.page(place, SLOT);
    await expect(first).rejects.toEqual(refusal('ERR_RDMC_KV_SLOT_UNAVAILABLE'));
    expect(valuesIn(await second).size).toBe(FIELDS);
  });
});

it('a snapshot ends at once, without files, where a hash does not fit into a page', async () => {
  const directory = temporaryDirectory('kv-too-large');
  let asked = 0;
  const command = async (): Promise<never> => {
    asked += 1;
    throw new Error('ERR ERR_RDMC_ENTRY_TOO_LARGE the hash "huge" is over the limit');
  };
  const server = { server: 1, slots: [[0, 16_383]], address: { host: '', port: 1 } };
  const access = {
    status: async () => ({ servers: [server] }) as unknown as ClusterStatus,
    connect: async () => ({ command, close() {} }) as unknown as Connection,
  };
  await expect(takeSnapshot(access, directory)).rejects.toEqual(
    new KvError('ERR_RDMC_ENTRY_TOO_LARGE', 'the hash "huge" is over the limit. No snapshot was made'),
  );
  expect([asked, readdirSync(directory)]).toEqual([1, []]);
});

describe('a page writer', () => {
  const bytes = (entry: LogEntry): Buffer => Buffer.concat(entry.parts);
  const head = { slot: 1, flags: FIRST | LAST, epoch: 2, version: 3 };

  it('writes what the log gets of the same keys and fields', () => {
    // Both sides of the length from which on Buffer writes a text.
    const text = fc.string({
      unit: fc.integer({ min: 0, max: 255 }).map((code) => String.fromCharCode(code)),
      maxLength: 70,
    });
    const version = fc.maxSafeNat();
    const expiresAt = fc.constantFrom(0, 1, 99_999_999_999_999);
    const keys = fc.record({ key: text, version, value: fc.oneof(text, version), expiresAt });
    const fields = fc.record({ key: text, field: text, version, value: text });
    fc.assert(
      fc.property(fc.array(fc.tuple(keys, fields)), (all) => {
        const writer = new PageWriter();
        const { end } = writer.section(head);
        const expected: Buffer[] = [];
        for (const [key, field] of all) {
          writer.key(key);
          writer.field(field);
          const { value } = key;
          const entry =
            typeof value === 'string' ? encodeKeyObject({ ...key, value }) : encodeHead({ ...key, value });
          expected.push(bytes(entry), bytes(encodeField(field.key, field.field, field.version, field.value)));
        }
        end();
        const { next, sections } = decodePage(writer.end({ slot: 9, after: 8 }));
        const [section] = sectionsIn(sections);
        expect(next).toEqual({ slot: 9, after: 8 });
        expect(section).toMatchObject(head);
        expect([...recordsOf(section!.records)].map(({ payload }) => payload)).toEqual(expected);
      }),
    );
  });

  it('says that a piece is full, also where a record is larger than a piece', () => {
    const writer = new PageWriter();
    writer.section(head).end();
    const field = (bytes_: number): boolean =>
      writer.field({ key: 'k', field: 'f', version: 1, value: 'x'.repeat(bytes_) });
    expect([field(1), field(SNAPSHOT_STEP_BYTES), field(1), field(1)]).toEqual([false, true, true, false]);
  });

  it('refuses a hash that one reply cannot have, and names it', () => {
    const writer = new PageWriter(1000);
    const facts = { key: 'huge', field: 'f', version: 1, value: 'x'.repeat(400) };
    writer.field(facts);
    writer.field(facts);
    expect(() => writer.field(facts)).toThrow(refusal('ERR_RDMC_ENTRY_TOO_LARGE'));
    expect(() => writer.field(facts)).toThrow(/^the hash "huge" is over the limit of 1000 bytes/);
  });
});
