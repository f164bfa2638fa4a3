import type { RackId } from '@rdmc/schedule';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { KIB, MIB } from '../src/constants.js';
import { groupFacts } from '../src/sender/membership.js';
import type { ReceiverLink } from '../src/sender/receiver-link.js';
import { byRack, chooseTransfer, type TransferFacts } from '../src/transfer-choice.js';

const AUTO = { blockBytes: 'auto' } as const;

/** Racks of members, so many in each. */
function racked(racks: number, each: number): Pick<TransferFacts, 'members' | 'racks'> {
  const list = Array.from({ length: racks * each }, (_, member) => `r${Math.floor(member / each)}`);
  return { members: list.length, racks: list };
}

const facts = (given: Partial<TransferFacts>): TransferFacts => ({
  ...{ contentBytes: 64 * MIB, members: 16, racks: undefined, sharesMemory: false },
  ...given,
});

describe('the transfer of a cast', () => {
  it.each<[string, Partial<TransferFacts>, string, RegExp]>([
    ['unknown racks', {}, 'binomial-pipeline', /not known/],
    ['shared memory', { ...racked(4, 4), sharesMemory: true }, 'binomial-pipeline', /share memory/],
    ['one rack', racked(1, 8), 'binomial-pipeline', /one rack/],
    ['a rack for each', racked(8, 1), 'binomial-pipeline', /rack of its own/],
    ['4 racks of 4', racked(4, 4), 'chain', /^4 racks: /],
    ['4 racks of 4, 2 MiB', { ...racked(4, 4), contentBytes: 2 * MIB }, 'chain', /crosses each uplink once/],
    ['4 racks of 8, 2 MiB', { ...racked(4, 8), contentBytes: 2 * MIB }, 'chain', /crosses each uplink once/],
    ['8 racks of 8, 2 MiB', { ...racked(8, 8), contentBytes: 2 * MIB }, 'hybrid', /only 64 blocks for 64/],
    ['4 racks of 4, nothing', { ...racked(4, 4), contentBytes: 0 }, 'hybrid', /only 1 block for 16/],
    ['32 racks of 32, 1 GiB', { ...racked(32, 32), contentBytes: 1024 * MIB }, 'chain', /32 racks/],
  ])('with %s', (_, given, algorithm, reason) => {
    const choice = chooseTransfer(facts(given), AUTO);
    expect(choice).toMatchObject({ algorithm, algorithmReason: expect.stringMatching(reason) });
    expect(choice.blockReason).toMatch(/^for \d+ members /);
  });

  it('is what was asked for', () => {
    const wishes = { algorithm: 'sequential', blockBytes: 5000, messageBytes: 1 * MIB } as const;
    expect(chooseTransfer(facts(racked(4, 4)), wishes)).toEqual({
      ...wishes,
      algorithmReason: 'asked for',
      blockReason: 'asked for',
    });
    // The size of blocks that was asked for decides too.
    const large = { blockBytes: 2 * MIB };
    expect(chooseTransfer(facts(racked(8, 8)), large)).toMatchObject({ algorithm: 'hybrid', ...large });
    expect(chooseTransfer(facts({}), { ...AUTO, algorithm: 'chain' }).blockBytes).toBe(64 * KIB);
  });

  it('never exceeds what was asked for, and is hybrid only between shared uplinks', () => {
    const given = fc.record({
      contentBytes: fc.integer({ min: 0, max: 2 ** 40 }),
      racks: fc.array(fc.integer({ min: 0, max: 5 }), { minLength: 2, maxLength: 40 }),
      sharesMemory: fc.boolean(),
      messageBytes: fc.integer({ min: 64 * KIB, max: 64 * MIB }),
    });
    fc.assert(
      fc.property(given, ({ messageBytes, ...rest }) => {
        const choice = chooseTransfer(facts({ ...rest, members: rest.racks.length }), {
          ...AUTO,
          messageBytes,
        });
        expect(choice.messageBytes).toBeLessThanOrEqual(messageBytes);
        expect(choice.blockBytes).toBeLessThanOrEqual(choice.messageBytes);
        const count = new Set(rest.racks).size;
        const shared = !rest.sharesMemory && count > 1 && count < rest.racks.length;
        expect(choice.algorithm === 'binomial-pipeline').toBe(!shared);
      }),
    );
  });
});

describe('a chain by rack', () => {
  const links = (racks: readonly (RackId | undefined)[]): ReceiverLink[] =>
    racks.map((rack, index) => ({ id: index + 1, target: { rack } }) as ReceiverLink);
  const chain = { ...chooseTransfer(facts({}), { ...AUTO, algorithm: 'chain' }) };

  it('visits one rack after the other, the rack of the sender first', () => {
    expect(byRack(['a', 'b', 'c', 'd', 'e'], [1, 2, 1, 0, 2], 2)).toEqual(['b', 'e', 'a', 'c', 'd']);
    const { members, racks } = groupFacts(1, 0, links(['x', 'y', 'x', 'own']), chain, 'own');
    expect({ members, racks }).toEqual({ members: [0, 4, 1, 3, 2], racks: undefined });
  });

  it('keeps the order of receivers where a rack is not known; other algorithms keep it always', () => {
    expect(groupFacts(1, 0, links(['x', 'y', undefined, 'own']), chain, 'own').members).toEqual([
      0, 1, 2, 3, 4,
    ]);
    const hybrid = { ...chain, algorithm: 'hybrid' } as const;
    const { members, racks } = groupFacts(1, 0, links(['x', 'y', 'x', 'own']), hybrid, 'own');
    expect({ members, racks }).toEqual({ members: [0, 1, 2, 3, 4], racks: ['own', 'x', 'y', 'x', 'own'] });
  });
});
