import { describe, expect, it } from 'vitest';
import { Announcements } from '../src/live/announcements.js';
import type { MemberEvent } from '../src/live/member-event.js';

const CAUSE = { code: 'ERR_RDMC_MESH_MEMBER_LOST', reason: 'its connection was closed' };

function joined(member: number, epoch: number): MemberEvent {
  return { type: 'joined', member, incarnation: 1, epoch };
}

function lost(member: number, epoch: number): MemberEvent {
  return { type: 'lost', member, incarnation: 1, epoch, ...CAUSE };
}

/** Announcements, and what a listener heard. */
async function rig() {
  const announcements = new Announcements(0, {});
  const heard: MemberEvent[] = [];
  announcements.events.subscribe((event) => heard.push(event));
  // A listener hears from the next microtask on.
  await Promise.resolve();
  return { announcements, heard };
}

describe('announcements', () => {
  it('come after the step, in the order in which it made them', async () => {
    const { announcements, heard } = await rig();
    announcements.step(() => {
      for (const event of [lost(1, 1), joined(1, 2), joined(2, 1)]) announcements.add(event);
      expect(heard).toEqual([]);
    });
    expect(heard).toEqual([lost(1, 1), joined(1, 2), joined(2, 1)]);
  });

  it('of a step within a step come at the end of the outer one', async () => {
    const { announcements, heard } = await rig();
    announcements.step(() => {
      announcements.step(() => announcements.add(lost(1, 1)));
      expect(heard).toEqual([]);
      announcements.add(joined(1, 2));
    });
    expect(heard).toEqual([lost(1, 1), joined(1, 2)]);
  });

  it('that a listener causes come after those that wait', async () => {
    const { announcements, heard } = await rig();
    const close = announcements.events.subscribe(({ type }) => {
      if (type !== 'lost') return;
      close();
      announcements.step(() => announcements.add(joined(3, 1)));
    });
    await Promise.resolve();
    announcements.step(() => {
      for (const event of [lost(1, 1), joined(1, 2)]) announcements.add(event);
    });
    expect(heard).toEqual([lost(1, 1), joined(1, 2), joined(3, 1)]);
  });
});
