import { describe, expect, it } from 'vitest';
import type { MemberEvent } from '../src/live/member-event.js';
import { Membership, type MembershipPort } from '../src/live/membership.js';
import type { RosterEntry } from '../src/live/roster.js';

const LIMITS = { members: 8, marks: 8, lost: 8 };
const BROKEN = { code: 'ERR_RDMC_MESH_MEMBER_LOST', reason: 'its connection was closed' };

function process(id: number, incarnation: number, instance = incarnation): RosterEntry {
  return {
    id,
    incarnation,
    instance: instance.toString(16).padStart(32, '0'),
    host: '127.0.0.1',
    port: 1000 + id,
    process: { host: 'here', pid: 1 },
  };
}

/** The machine of member 0, with all that it made its port do. */
function machine() {
  const calls: string[] = [];
  const said = ({ type, member, incarnation, epoch }: MemberEvent): string =>
    `${type} ${member} ${incarnation}.${epoch}`;
  const port: MembershipPort = {
    disconnect: (event, verdict) => calls.push(`end: ${said(event)}${verdict ? `, ${verdict.code}` : ''}`),
    announce: (event) => calls.push(said(event)),
    reach: ({ id }) => calls.push(`reach ${id}`),
    forget: (peer) => calls.push(`forget ${peer}`),
    tell: ({ entries, marks }) => calls.push(`tell ${[...entries, ...marks].map(({ id }) => id)}`),
    stop: ({ code }) => calls.push(`stop ${code}`),
  };
  const membership = new Membership(process(0, 2), port, LIMITS);
  return { membership, taken: () => calls.splice(0) };
}

function epochOf({ incarnation, instance }: RosterEntry, epoch: number) {
  return { incarnation, instance, epoch };
}

describe('the connections of a pair', () => {
  it('an attempt that is not later than the last connection is refused, also after its end', () => {
    const { membership } = machine();
    const peer = process(1, 1);
    membership.connected(peer, 2);
    for (const epoch of [1, 2]) {
      expect(membership.judge(peer, epoch)?.code).toBe('ERR_RDMC_MESH_UNREACHABLE');
    }
    expect(membership.judge(peer, 3)).toBeUndefined();
    membership.closed(1, epochOf(peer, 2), BROKEN);
    expect(membership.judge(peer, 2)?.code).toBe('ERR_RDMC_MESH_UNREACHABLE');
    expect(membership.nextEpoch(1)).toBe(3);
    // A new process counts from the beginning.
    expect(membership.judge(process(1, 2), 1)).toBeUndefined();
  });

  it('the next one: all of the old one ends, then it is lost, then the new one is joined', () => {
    const { membership, taken } = machine();
    const peer = process(1, 1);
    membership.connected(peer, 1);
    taken();
    membership.connected(peer, 2);
    expect(taken()).toEqual(['end: lost 1 1.1', 'lost 1 1.1', 'forget 1', 'joined 1 1.2']);
    membership.connected(process(1, 2), 1);
    expect(taken()).toEqual(['end: lost 1 1.2, ERR_RDMC_REPLACED', 'lost 1 1.2', 'forget 1', 'joined 1 2.1']);
  });

  it('the late end of an earlier one does not end the one in use', () => {
    const { membership, taken } = machine();
    const peer = process(1, 1);
    membership.connected(peer, 1);
    membership.connected(peer, 2);
    taken();
    membership.closed(1, epochOf(peer, 1), BROKEN);
    membership.leaves(1, epochOf(peer, 1));
    expect(taken()).toEqual([]);
    membership.closed(1, epochOf(peer, 2), BROKEN);
    expect(taken()).toEqual(['end: lost 1 1.2', 'lost 1 1.2', 'reach 1']);
  });
});

describe('the processes of an id', () => {
  it('an older one is refused with the holder, also where the incarnation is the same', () => {
    const { membership } = machine();
    const holder = process(1, 2, 5);
    membership.learn({ entries: [holder], marks: [] });
    for (const older of [process(1, 1, 9), process(1, 2, 4)]) {
      expect(membership.judge(older, 1)).toEqual({ code: 'ERR_RDMC_REPLACED', holder });
    }
    expect(membership.judge(process(1, 2, 6), 1)).toBeUndefined();
  });

  it('a member that learns of its own replacement or removal stops; of an older process it does not', () => {
    const { membership, taken } = machine();
    membership.learn({ entries: [process(0, 1, 9)], marks: [{ id: 0, incarnation: 1 }] });
    expect(taken()).toEqual([]);
    membership.learn({ entries: [process(0, 3)], marks: [] });
    expect(taken()).toEqual(['stop ERR_RDMC_REPLACED']);
    membership.learn({ entries: [], marks: [{ id: 0, incarnation: 2 }] });
    expect(taken()).toEqual(['stop ERR_RDMC_MESH_EVICTED']);
  });

  it('one that has left is not taken from an older roster', () => {
    const { membership, taken } = machine();
    const peer = process(1, 1);
    membership.connected(peer, 1);
    taken();
    membership.leaves(1, epochOf(peer, 1));
    expect(taken()).toEqual(['end: left 1 1.1', 'left 1 1.1', 'forget 1']);
    membership.learn({ entries: [peer], marks: [] });
    expect(taken()).toEqual([]);
    expect(membership.judge(peer, 2)?.code).toBe('ERR_RDMC_MESH_EVICTED');
  });
});
