import { algorithms, createSchedule } from '@rdmc/schedule';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { automaticBlockSize, LEAST_AUTO_BLOCK_BYTES, MOST_AUTO_BLOCK_BYTES } from '../src/block-size.js';
import { blockCount, blockLength } from '../src/blocks.js';
import { CloseBarrier } from '../src/close-barrier.js';
import { CONTROL_SEND_DEPTH, CONTROL_SIGNAL_EVERY, HEADER_BYTES, HEADER_WORDS } from '../src/constants.js';
import { parseMessage, parseVerdict } from '../src/wire-messages.js';
import { Announcements } from '../src/worker/announcements.js';
import { createCounters } from '../src/worker/counters.js';
import {
  headerBlock,
  headerBlockSize,
  headerMessage,
  headerSize,
  writeHeader,
} from '../src/worker/header.js';
import { Plans } from '../src/worker/plans.js';
import type { GroupPort } from '../src/worker/port.js';
import { SharedPlans } from '../src/worker/shared-plans.js';

describe('header', () => {
  it('has the drawn layout, byte by byte', () => {
    const words = new Uint32Array(2 * HEADER_WORDS);
    const message = { byteLength: 0x1_2345_6789_abcd, blockBytes: 0x11223344, number: 0x55667788 };
    writeHeader(words, 1, message, 0x0a0b0c0d);
    const bytes = Buffer.from(words.buffer, HEADER_BYTES, HEADER_BYTES);
    expect(bytes.toString('hex')).toBe('cdab896745230100' + '44332211' + '88776655' + '0d0c0b0a');
    expect(words.subarray(0, HEADER_WORDS)).toEqual(new Uint32Array(HEADER_WORDS));
  });

  it('carries sizes up to 2^53 − 1', () => {
    const words = new Uint32Array(HEADER_WORDS);
    const word = fc.nat(0xffff_ffff);
    fc.assert(
      fc.property(fc.maxSafeNat(), word, word, word, (byteLength, blockBytes, number, block) => {
        writeHeader(words, 0, { byteLength, blockBytes, number }, block);
        const sizes = [headerSize(words, 0), headerBlockSize(words, 0)];
        expect([...sizes, headerMessage(words, 0), headerBlock(words, 0)]).toEqual([
          byteLength,
          blockBytes,
          number,
          block,
        ]);
      }),
    );
  });
});

describe('blocks', () => {
  it('cover a message exactly, whatever its size', () => {
    fc.assert(
      fc.property(fc.nat(10_000), fc.integer({ min: 1, max: 300 }), (size, blockSize) => {
        const lengths = Array.from({ length: blockCount(size, blockSize) }, (_, block) =>
          blockLength(size, blockSize, block),
        );
        expect(lengths.length).toBeGreaterThan(0);
        expect(lengths.reduce((sum, length) => sum + length, 0)).toBe(size);
        for (const length of lengths) expect(length).toBeLessThanOrEqual(blockSize);
      }),
    );
  });

  it('are counted beyond 4 GiB', () => {
    const size = 5 * 2 ** 30 + 1;
    expect(blockCount(size, 2 ** 20)).toBe(5121);
    expect(blockLength(size, 2 ** 20, 5120)).toBe(1);
  });
});

describe('automatic block size', () => {
  const members = fc.integer({ min: 2, max: 1000 });
  const transports = fc.constantFrom(['shm'], ['tcp'], ['shm', 'tcp'], ['roce']);

  it('is a power of two within its limits, and never shrinks as messages grow', () => {
    fc.assert(
      fc.property(fc.maxSafeNat(), fc.maxSafeNat(), members, transports, (a, b, nodes, by) => {
        const [small, large] = [Math.min(a, b), Math.max(a, b)].map((size) =>
          automaticBlockSize(size, nodes, by),
        );
        expect(small).toBeLessThanOrEqual(large!);
        expect(Math.log2(small!) % 1).toBe(0);
        expect(small).toBeGreaterThanOrEqual(LEAST_AUTO_BLOCK_BYTES);
        expect(large).toBeLessThanOrEqual(MOST_AUTO_BLOCK_BYTES);
      }),
    );
  });

  it('is smaller over a network, also if some members share a host', () => {
    const inMemory = automaticBlockSize(64 * 2 ** 20, 8, ['shm']);
    for (const by of [['tcp'], ['shm', 'tcp']]) {
      expect(automaticBlockSize(64 * 2 ** 20, 8, by)).toBeLessThan(inMemory);
    }
  });

  it('is larger over RDMA than over TCP', () => {
    const table = [1, 4, 16, 1024].map((mib) => automaticBlockSize(mib * 2 ** 20, 8, ['roce']) >> 10);
    expect(table).toEqual([256, 512, 1024, 1024]);
    expect(automaticBlockSize(16 * 2 ** 20, 4, ['infiniband'])).toBe(2 ** 20);
    expect(automaticBlockSize(16 * 2 ** 20, 8, ['roce', 'tcp'])).toBe(64 * 1024);
  });

  it('makes small messages one block', () => {
    for (const size of [0, 1, 65_536]) expect(blockCount(size, automaticBlockSize(size, 8))).toBe(1);
  });
});

describe('plans', () => {
  it('read the schedule in any chunks, kept or sliding', () => {
    for (const blocks of [1, 1000, 1025, 70_000]) {
      const topology = { algorithm: 'binomial-pipeline', nodes: 6, rank: 3 } as const;
      const { algorithm, nodes } = topology;
      const schedule = createSchedule({ algorithm, nodes, blocks });
      const { sendsTo, receivesFrom } = schedule.neighbours(3);
      const neighbours = [...new Set([...sendsTo, ...receivesFrom])];
      const plan = new Plans(topology, neighbours).for(blocks);
      const part = schedule.rank(3);
      const sends = part.sends.map(({ to, block }) => [neighbours.indexOf(to), block]);
      const found: number[][] = [];
      for (let i = 0; plan.sends.has(i); i += 1) found.push([plan.sends.pair(i), plan.sends.block(i)]);
      expect(found).toEqual(sends);
      const receives: number[] = [];
      for (let i = 0; plan.receives.has(i); i += 1) receives.push(plan.receives.block(i));
      expect(receives).toEqual(part.receives.map(({ block }) => block));
    }
  });

  it('know the neighbours whose first block comes from the member', () => {
    for (const algorithm of algorithms) {
      for (const nodes of [2, 3, 7, 8, 13, 32, 37]) {
        const racks =
          algorithm === 'hybrid' ? Array.from({ length: nodes }, (_, rank) => rank % 3) : undefined;
        const schedule = createSchedule({ algorithm, nodes, blocks: 1000, racks });
        for (let rank = 0; rank < nodes; rank += 1) {
          const { sendsTo, receivesFrom } = schedule.neighbours(rank);
          const neighbours = [...new Set([...sendsTo, ...receivesFrom])].sort((a, b) => a - b);
          const led = neighbours.filter((peer) => schedule.neighbours(peer).firstFrom === rank);
          const found = new Plans({ algorithm, nodes, rank, racks }, neighbours).led;
          expect(
            found.map((pair) => neighbours[pair]),
            `${algorithm}, rank ${rank} of ${nodes}`,
          ).toEqual(led);
        }
      }
    }
  });

  it('are created once for messages with the same number of blocks, and the oldest are dropped', () => {
    const plans = new Plans({ algorithm: 'chain', nodes: 3, rank: 1 }, [0, 2]);
    const [first, second] = [plans.for(10), plans.for(11)];
    for (let blocks = 20; blocks < 274; blocks += 1) plans.for(blocks);
    // 256 are kept, and this one is now the last used one.
    expect(plans.for(10)).toBe(first);
    plans.for(300);
    expect(plans.for(10)).toBe(first);
    expect(plans.for(11)).not.toBe(second);
    // Of long ones fewer.
    const long = plans.for(30_000);
    for (let blocks = 30_001; blocks < 30_009; blocks += 1) plans.for(blocks);
    expect(plans.for(30_000)).not.toBe(long);
    expect(plans.for(100_000)).not.toBe(plans.for(100_000));
  });

  it('are shared by the groups of a kind, as long as one of them is open', () => {
    const shared = new SharedPlans();
    const topology = { algorithm: 'chain', nodes: 3, rank: 1 } as const;
    const plans = shared.join(topology, [0, 2]);
    expect(shared.join({ ...topology, racks: undefined }, [0, 2])).toBe(plans);
    const others = [
      shared.join({ ...topology, algorithm: 'binomial-pipeline' }, [0, 2]),
      shared.join({ ...topology, nodes: 4 }, [0, 2]),
      shared.join({ ...topology, rank: 2 }, [0, 2]),
      shared.join({ ...topology, racks: ['a', 'b', 'b'] }, [0, 2]),
      shared.join({ ...topology, racks: ['a', 'b,b'] }, [0, 2]),
      shared.join(topology, [2, 0]),
    ];
    expect(new Set([plans, ...others]).size).toBe(7);
    shared.leave(plans);
    expect(shared.join(topology, [0, 2])).toBe(plans);
    shared.leave(plans);
    shared.leave(plans);
    expect(shared.join(topology, [0, 2])).not.toBe(plans);
  });
});

describe('announcements', () => {
  it('are posted in batches while the neighbour may still send, and at once if it may not', () => {
    const told: number[] = [];
    const port = { announce: (_: number, count: number) => told.push(count) };
    const announcements = new Announcements(port as unknown as GroupPort, createCounters(), 1, 8);
    const post = (count: number): void => {
      for (let i = 0; i < count; i += 1) announcements.posted(0);
      announcements.announce();
    };
    post(4);
    expect(told).toEqual([4]);
    post(3);
    expect(told).toEqual([4]);
    announcements.arrived(0);
    post(0);
    expect(told).toEqual([4, 7]);
    post(4);
    expect(told).toEqual([4, 7, 11]);
  });

  it('wait while their send queue is full; then one announces all receives', () => {
    const told: [number, number][] = [];
    const port = { announce: (_: number, count: number, confirm: number) => told.push([count, confirm]) };
    const announcements = new Announcements(port as unknown as GroupPort, createCounters(), 1, 2);
    for (let i = 0; i < CONTROL_SEND_DEPTH + 10; i += 1) {
      announcements.posted(0);
      announcements.announce();
    }
    expect(told).toHaveLength(CONTROL_SEND_DEPTH);
    expect(told.filter(([, confirm]) => confirm !== 0).map(([, confirm]) => confirm)).toEqual([16, 32]);
    announcements.confirmed(0, CONTROL_SIGNAL_EVERY);
    announcements.announce();
    expect(told.at(-1)).toEqual([CONTROL_SEND_DEPTH + 10, 0]);
  });
});

describe('close barrier', () => {
  it('is complete when the root has sent and all have stored', () => {
    const barrier = new CloseBarrier([5, 6, 7], 6);
    expect(barrier.storesNow([0])).toBe(false);
    barrier.stored(7);
    barrier.sent(5, 2);
    expect(barrier.storesNow([1])).toBe(false);
    expect(barrier.ownPartDone).toBe(false);
    expect(barrier.pending).toEqual([6]);
    expect(barrier.complete).toBe(false);
    expect(barrier.storesNow([2])).toBe(true);
    expect(barrier.storesNow([2])).toBe(false);
    expect(barrier.ownPartDone).toBe(true);
    expect(barrier.complete).toBe(true);
  });
});

describe('messages over the mesh', () => {
  it('are parsed only if they are well-formed', () => {
    const stored = { type: 'stored', group: 1, nonce: 'a', to: 'b' };
    expect(parseMessage(stored)).toEqual(stored);
    for (const wrong of [null, 1, 'x', [], {}, { type: 'toString', group: 1 }, { ...stored, group: 'a' }]) {
      expect(parseMessage(wrong)).toBeUndefined();
    }
    for (const field of ['nonce', 'to']) expect(parseMessage({ ...stored, [field]: 5 })).toBeUndefined();
    const create = { type: 'create', group: 1, nonce: 'a', agreement: null, address: null };
    expect(parseMessage(create)).toBeUndefined();
    expect(parseVerdict({ culprit: 1, code: 'x', reason: 'y' })).toBeDefined();
    expect(parseVerdict({ culprit: '1', code: 'x', reason: 'y' })).toBeUndefined();
    expect(parseVerdict(null)).toBeUndefined();
  });
});
