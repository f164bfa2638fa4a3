import { type Random, rounds, thrown } from '@rdmc/testing';
import type { MemoryRegion, ProtectionDomain } from '@rdmc/verbs';
import { describe, expect, it } from 'vitest';
import { readState, writeState } from '../src/stable/row-codec.js';
import { StableDelivery } from '../src/stable/stable-delivery.js';
import { StableTable } from '../src/stable/stable-table.js';
import { openRow, type Row } from '../src/stable/survivor-rules.js';
import { rowLayout } from '../src/stable/table-layout.js';

const ONE = rowLayout(1);

function randomRow(random: Random, senders: number): Row {
  const counts = (): number[] => Array.from({ length: senders }, () => random.below(2 ** 52));
  return {
    isWedged: true,
    received: counts(),
    suspected: random.word(),
    ballot: random.below(33),
    trim: counts(),
    excluded: random.word(),
    isDecided: random.below(2) === 1,
  };
}

describe('the state of a row', () => {
  it('is read as it was written', async () => {
    await rounds(200, (random) => {
      const layout = rowLayout(1 + random.below(16));
      const words = new Uint32Array(layout.rowBytes / 4);
      for (let count = 0; count < 3; count += 1) {
        const row = randomRow(random, layout.senders);
        writeState(words, layout, row);
        expect(readState(words, layout)).toEqual(row);
      }
    });
  });

  it('is not read while it is written, in whatever order its words are placed', async () => {
    await rounds(500, (random) => {
      const layout = rowLayout(1 + random.below(3));
      const before = new Uint32Array(layout.rowBytes / 4);
      const [one, other] = [randomRow(random, layout.senders), randomRow(random, layout.senders)];
      writeState(before, layout, one);
      const after = before.slice();
      writeState(after, layout, other);
      const torn = before.map((word, index) => (random.below(2) === 1 ? after[index]! : word));
      const read = readState(torn, layout);
      if (read !== undefined) expect([one, other]).toContainEqual(read);
    });
  });
});

/** A table in plain memory, and the words of each row in it. */
async function table(members: number, rank: number): Promise<{ table: StableTable; rows: Uint32Array[] }> {
  const rows: Uint32Array[] = [];
  const domain = {
    allocate: async (byteLength: number) => {
      const bytes = new Uint8Array(byteLength);
      rows.push(new Uint32Array(bytes.buffer));
      return { view: () => bytes, close: async () => {} } as unknown as MemoryRegion;
    },
  };
  return { table: await StableTable.allocate(domain as unknown as ProtectionDomain, members, rank), rows };
}

describe('a row that another member cannot have written', () => {
  const suspects = (suspected: number): Row => ({ ...openRow(), isWedged: true, suspected });

  it.each<[string, Row[]]>([
    ['suspects members that do not exist', [suspects(0b1000)]],
    ['excludes members that do not exist', [{ ...suspects(1), excluded: 0b1000 }]],
    ['has a ballot of no member', [{ ...suspects(1), ballot: 4 }]],
    ['does not suspect a member any more', [suspects(0b11), suspects(0b10)]],
    ['goes back to an earlier ballot', [{ ...suspects(1), ballot: 2 }, suspects(1)]],
    ['takes back a decision', [{ ...suspects(1), isDecided: true }, suspects(1)]],
    ['counts further messages', [suspects(1), { ...suspects(1), received: [1] }]],
  ])('%s: it is refused once, and does not count any more', async (_name, written) => {
    const { table: own, rows } = await table(3, 0);
    for (const row of written.slice(0, -1)) {
      writeState(rows[2]!, ONE, row);
      own.rows();
    }
    const before = own.rows()[2];
    writeState(rows[2]!, ONE, written.at(-1)!);
    expect(thrown(() => own.rows())).toMatchObject({ name: 'RowViolation', rank: 2 });
    expect(own.rows()[2]).toEqual(before);
    expect(own.hasNews).toBe(false);
  });

  it('stops with fewer messages than it counted', async () => {
    const { table: own, rows } = await table(3, 1);
    rows[2]![ONE.count] = 5;
    own.countOf(2);
    writeState(rows[2]!, ONE, { ...suspects(1), received: [4] });
    expect(thrown(() => own.rows())).toMatchObject({ name: 'RowViolation', rank: 2 });
  });

  it('takes messages back', async () => {
    const { table: own, rows } = await table(3, 1);
    rows[2]![ONE.count] = 5;
    expect(own.countOf(2)).toBe(5);
    rows[2]![ONE.count] = 4;
    expect(thrown(() => own.countOf(2))).toMatchObject({ name: 'RowViolation', rank: 2 });
    expect(own.countOf(2)).toBe(5);
  });

  it('counts messages that were not sent', async () => {
    const { table: own, rows } = await table(3, 1);
    rows[2]![ONE.count] = 5;
    expect(own.countOf(2, 0, 5)).toBe(5);
    rows[2]![ONE.count] = 6;
    expect(thrown(() => own.countOf(2, 0, 5))).toMatchObject({ name: 'RowViolation', rank: 2 });
    expect(own.countOf(2, 0, 5)).toBe(5);
  });

  it('is reported, and the survivors go on without that member', async () => {
    const { table: own, rows } = await table(3, 0);
    const events: unknown[] = [];
    const delivery: StableDelivery = new StableDelivery(
      own,
      { members: 3, rank: 0, quorum: 'majority', senders: [0], counts: false, ownToo: false },
      {
        stable: () => {},
        numbered: () => 7,
        stopped: (rank) => events.push(['stopped', rank]),
        ended: (end, { trim, excluded }) => events.push([end, trim, excluded]),
        violated: (rank, reason) => {
          events.push(['violated', rank, reason]);
          delivery.lose(rank);
          delivery.wedge([7]);
        },
        kick: () => {},
        settle: async () => {},
      },
    );
    writeState(rows[2]!, ONE, suspects(0b1000));
    delivery.look();
    writeState(rows[1]!, ONE, { ...suspects(0b100), received: [5] });
    delivery.look();
    writeState(rows[1]!, ONE, { ...suspects(0b100), received: [5], ballot: 1, trim: [5], excluded: 0b100 });
    delivery.look();
    expect(events).toEqual([
      ['violated', 2, 'its row is not one of this group'],
      ['agreed', [5], 0b100],
    ]);
  });
});

it('counts go on beyond 32 bits', async () => {
  const { table: own, rows } = await table(3, 1);
  let count = 0;
  for (const step of [0x7fff_ffff, 0x7fff_ffff, 0x7fff_ffff, 3]) {
    count += step;
    rows[2]![ONE.count] = count % 2 ** 32;
    expect(own.countOf(2)).toBe(count);
  }
});
