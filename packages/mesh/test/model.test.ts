import { exploreObjects } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';
import { Membership } from '../src/live/membership.js';
import { Roster, type RosterEntry, type RosterMark } from '../src/live/roster.js';
import { type Epoch, Timeline } from '../src/live/timeline.js';
import { MeshModel } from './model/mesh-model.js';
import type { Setting } from './model/mesh-setting.js';

/** RDMC_TEST_LONG=1 runs the longest search, too: of a member that others connect to. */
const isLong = process.env.RDMC_TEST_LONG === '1';
const LONG: [string, Setting] = [
  'a stopped member, its successor, and its return; lowest id',
  { id: 0, successor: true, stops: true },
];

const settings: [string, Setting][] = [
  ['connections that break, the failing member connects', { id: 2, isPair: true, breaks: 4 }],
  ['connections that break, the failing member is connected to', { id: 0, isPair: true, breaks: 4 }],
  ['three members, connections that break', { id: 1, breaks: 3 }],
  ['a member that leaves while a connection breaks', { id: 2, breaks: 1, leaves: true }],
  ['a second process of an id, without a fault', { id: 2, successor: true }],
  ['a second process that replaces the first', { id: 1, successor: true, replace: true }],
  ['a member that only one other has lost, and its successor', { id: 2, successor: true, breaks: 1 }],
  ['a stopped member, its successor, and its return; highest id', { id: 2, successor: true, stops: true }],
  ...(isLong ? [LONG] : []),
];

describe('members that come and go, in every interleaving', () => {
  it.each(settings)(
    '%s: no step is unsafe, and the end is reachable from every state',
    { timeout: 240_000 },
    (_name, setting) => {
      const { states, unsafe, stuck } = exploreObjects(new MeshModel(setting));
      expect(unsafe, `${unsafe?.reason}: ${unsafe?.trace.join(', ')}`).toBeUndefined();
      expect(stuck, stuck?.join(', ')).toBeUndefined();
      expect(states).toBeGreaterThan(2);
    },
  );
  if (!isLong) it.skip(`${LONG[0]} [skipped: set RDMC_TEST_LONG=1 to run it]`, () => {});
});

/** Machines with another roster or other timelines. */
function withRoster(make: (limits: ConstructorParameters<typeof Roster>[0]) => Roster) {
  return class extends Membership {
    override readonly roster: Roster;
    constructor(...[self, port, limits]: ConstructorParameters<typeof Membership>) {
      super(self, port, limits);
      this.roster = make(limits);
      this.roster.offer(self);
    }
  };
}

/** What was written last counts. */
class LastWriterWins extends Roster {
  override accepts(entry: RosterEntry): boolean {
    const known = this.get(entry.id);
    return known === undefined || known.instance !== entry.instance;
  }
}

/** A member that left is deleted without a mark. */
class WithoutMarks extends Roster {
  override retire({ id, incarnation }: RosterMark): boolean {
    const known = this.get(id);
    if (known === undefined || known.incarnation > incarnation) return false;
    this.set(id, undefined);
    return true;
  }
}

class WithTimelines extends Membership {
  protected makeTimeline(member: number): Timeline {
    return new Timeline(member);
  }
  protected override timelineOf(id: number): Timeline {
    let timeline = this.timelines.get(id);
    if (timeline === undefined) {
      timeline = this.makeTimeline(id);
      this.timelines.set(id, timeline);
    }
    return timeline;
  }
}

/** A connection of an old epoch is as good as a new one. */
class AdmitsAll extends WithTimelines {
  protected override makeTimeline(member: number): Timeline {
    return new (class extends Timeline {
      override admits(): boolean {
        return true;
      }
    })(member);
  }
}

/** The new connection is reported before the loss of the one before it. */
class JoinsFirst extends WithTimelines {
  override connected(entry: RosterEntry, epoch: number): void {
    const { incarnation, instance } = entry;
    const next: Epoch = { incarnation, instance, epoch };
    const current = this.currentOf(entry.id);
    this.roster.offer(entry);
    this.port.forget(entry.id);
    this.port.announce({ type: 'joined', member: entry.id, incarnation, epoch });
    if (current !== undefined) this.endOlder(entry, next);
    this.timelineOf(entry.id).joined(next);
  }
}

/** The id of a process that answers is given away. */
class GivesAway extends Membership {
  protected override answers(): boolean {
    return false;
  }
}

/** A process with an older claim than the known one is taken. */
class NeverReplaced extends Membership {
  override judgeClaim(): undefined {
    return undefined;
  }
}

/** A lost peer is left alone. */
class NeverReaches extends Membership {
  protected override miss(): void {}
}

describe('wrong variants are detected', () => {
  const wrong: [string, Setting, RegExp][] = [
    [
      'the roster takes what was written last',
      { id: 2, breaks: 1, leaves: true, machine: withRoster((limits) => new LastWriterWins(limits)) },
      /./,
    ],
    [
      'the new connection is reported before the loss of the old one',
      { id: 2, breaks: 2, isPair: true, machine: JoinsFirst },
      /joined follows joined/,
    ],
    [
      'the incarnation comes from the clock alone, which was set back',
      { id: 2, successor: true, stops: true, incarnation: () => 4 },
      /./,
    ],
    [
      'a connection of an old epoch is admitted',
      { id: 2, breaks: 2, isPair: true, machine: AdmitsAll },
      /follows|earlier connection/,
    ],
    [
      'a connection of an old epoch delivers',
      { id: 2, breaks: 2, isPair: true, keepsConnections: true },
      /earlier connection/,
    ],
    [
      'the id of a process that answers is given away',
      { id: 2, successor: true, machine: GivesAway },
      /that answers was replaced/,
    ],
    ['an older claim is not refused', { id: 2, successor: true, stops: true, machine: NeverReplaced }, /./],
  ];
  it.each(wrong)('%s: unsafe, or without an end', { timeout: 240_000 }, (_name, setting, reason) => {
    const { unsafe, stuck } = exploreObjects(new MeshModel(setting));
    expect(unsafe?.reason ?? stuck?.join(', ')).toMatch(reason);
  });

  it('a member that left is deleted without a mark: an older roster brings it back for ever', () => {
    const machine = withRoster((limits) => new WithoutMarks(limits));
    const { unsafe, stuck } = exploreObjects(new MeshModel({ id: 2, breaks: 1, leaves: true, machine }));
    expect(unsafe?.reason ?? stuck).toBeDefined();
  });

  it('a lost peer is not reached for: the mesh is not whole again', () => {
    const { unsafe, stuck } = exploreObjects(new MeshModel({ id: 2, breaks: 1, machine: NeverReaches }));
    expect(unsafe).toBeUndefined();
    expect(stuck).toBeDefined();
  });
});
