import { type MemoryRegion, openDevice } from '@rdmc/verbs';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { RingAddress } from '../src/records.js';
import { RingGrowth, type RingPlace } from '../src/small/ring-growth.js';
import { SmallMemory } from '../src/small/small-memory.js';

const SENDER = 0;
const WITHOUT_MEMORY = 9;

/** Rings of a path of members, which exchange their messages at once; each member's index is its id. */
class Path {
  readonly log: string[] = [];
  readonly allocated: number[] = [];
  readonly growths: RingGrowth[];
  isOpen = true;

  /** `children`: by member. `without`: members that have no memory. */
  constructor(
    children: readonly (readonly number[])[],
    private readonly without: readonly number[] = [],
  ) {
    this.growths = children.map(
      (of, member) => new RingGrowth([this.#place(member, of, children)], this.#port(member)),
    );
  }

  #place(member: number, children: readonly number[], all: readonly (readonly number[])[]): RingPlace {
    const parent = all.findIndex((each) => each.includes(member));
    const region = {
      handle: member,
      remote: () => ({ address: member, rkey: 1 }),
      view: () => Uint8Array.of(member),
    } as unknown as MemoryRegion;
    const memory = {
      grow: async () => {
        this.allocated.push(member);
        if (this.without.includes(member)) throw new Error('no memory');
        return region;
      },
      shrink: async () => void this.log.push(`${member} frees`),
      isClosed: false,
    } as unknown as SmallMemory;
    return { sender: SENDER, link: 0, children, parent: parent === -1 ? undefined : parent, memory };
  }

  #port(own: number): ConstructorParameters<typeof RingGrowth>[1] {
    return {
      grow: async ({ addresses }) => {
        this.log.push(`${own} writes to ${addresses.map(({ address }) => address).join()}`);
      },
      enlarge: (member, sender) => this.growths[member]!.asked(own, sender),
      enlarged: (member, sender, ring) => this.growths[member]!.answered(own, sender, ring),
      isOpen: () => this.isOpen,
      use: (_place, [full]) => void this.log.push(`${full} uses`),
    };
  }
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const TREE = [[1, 2], [3], [], []];

describe('the growth of a ring', () => {
  it('is used by a member when all behind it have a full ring', async () => {
    const path = new Path(TREE);
    path.growths[0]!.begin(SENDER);
    await settled();
    const { log } = path;
    expect([...log].sort()).toEqual([
      '0 uses',
      '0 writes to 1,2',
      '1 uses',
      '1 writes to 3',
      '2 uses',
      '2 writes to ',
      '3 uses',
      '3 writes to ',
    ]);
    expect(log.indexOf('3 uses')).toBeLessThan(log.indexOf('1 writes to 3'));
    expect(log.indexOf('1 uses')).toBeLessThan(log.indexOf('0 writes to 1,2'));
    expect(log.indexOf('2 uses')).toBeLessThan(log.indexOf('0 writes to 1,2'));
    expect(log.at(-1)).toBe('0 uses');
  });

  it('happens once', async () => {
    const path = new Path([[1], []]);
    for (let i = 0; i < 3; i += 1) path.growths[0]!.begin(SENDER);
    await settled();
    path.growths[0]!.begin(SENDER);
    await settled();
    expect(path.log.filter((line) => line === '0 uses')).toHaveLength(1);
  });

  it.each([0, 1, 2, 3])('does not happen where member %i lacks memory', async (member) => {
    const path = new Path(TREE, [member]);
    path.growths[0]!.begin(SENDER);
    await settled();
    expect(path.log).not.toContain('0 uses');
    // A member above one without memory does not keep its own.
    if (member === 3) expect(path.log).toEqual(expect.arrayContaining(['1 frees', '0 frees']));
  });

  it('does not touch a group that has ended meanwhile', async () => {
    const path = new Path(TREE);
    path.growths[0]!.begin(SENDER);
    path.isOpen = false;
    await settled();
    expect(path.log).toEqual([]);
  });

  it('does not allocate for a request that arrives when the group has ended', async () => {
    const path = new Path(TREE);
    path.isOpen = false;
    path.growths[1]!.asked(0, SENDER);
    await settled();
    expect(path.allocated).toEqual([]);
    path.isOpen = true;
    path.growths[1]!.asked(0, SENDER);
    await settled();
    expect(path.allocated).toContain(1);
  });

  it('does not allocate from memory that was freed', async () => {
    const device = await openDevice({ device: 'soft' });
    onTestFinished(() => device.close());
    const domain = device.allocateProtectionDomain();
    const part = { isRoot: false, links: 1, smallMessageBytes: 64, members: 2 };
    const memory = await SmallMemory.allocate(domain, part);
    await memory.close();
    await expect(memory.grow()).rejects.toMatchObject({ code: 'ERR_RDMC_REGION_CLOSED' });
    // Nothing of it is left.
    await domain.close();
  });

  it('ignores requests and answers of members that are not its neighbours, and of other rings', async () => {
    const path = new Path(TREE);
    const answer: RingAddress = { address: WITHOUT_MEMORY, rkey: 1 };
    path.growths[3]!.asked(2, SENDER);
    path.growths[1]!.asked(0, WITHOUT_MEMORY);
    path.growths[0]!.answered(3, SENDER, answer);
    path.growths[0]!.answered(1, WITHOUT_MEMORY, answer);
    await settled();
    expect(path.log).toEqual([]);
  });
});
