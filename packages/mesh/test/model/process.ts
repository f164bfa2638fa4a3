import type { MemberEvent } from '../../src/live/member-event.js';
import type { Membership, MembershipPort, Verdict } from '../../src/live/membership.js';
import type { RosterDelta, RosterEntry } from '../../src/live/roster.js';

/** One process. */
export class Process {
  state: 'off' | 'on' | 'stopped' | 'ended' = 'off';
  machine: Membership | undefined;
  /** The roster that the newcomer has learned, until it is introduced. */
  learned: RosterDelta | undefined;
  /** Peers to reach. */
  readonly wanted = new Map<number, RosterEntry>();
  readonly last = new Map<number, MemberEvent>();

  constructor(
    readonly index: number,
    readonly id: number,
    readonly instance: string,
  ) {}
}

/** The connections of all processes. */
export interface ProcessHost {
  disconnect(process: Process, event: MemberEvent, verdict: Verdict | undefined): void;
  tell(process: Process, news: RosterDelta, but: number | undefined): void;
  end(process: Process): void;
}

/** What a process's machine calls; it also checks the order of events. */
export class ProcessPort implements MembershipPort {
  constructor(
    private readonly host: ProcessHost,
    private readonly process: Process,
  ) {}

  disconnect(event: MemberEvent, verdict: Verdict | undefined): void {
    this.host.disconnect(this.process, event, verdict);
  }

  announce(event: MemberEvent): void {
    checkOrder(this.process.last.get(event.member), event);
    this.process.last.set(event.member, event);
  }

  reach(entry: RosterEntry): void {
    this.process.wanted.set(entry.id, entry);
  }

  forget(peer: number): void {
    this.process.wanted.delete(peer);
  }

  tell(news: RosterDelta, but?: number): void {
    this.host.tell(this.process, news, but);
  }

  stop(): void {
    this.host.end(this.process);
  }
}

function checkOrder(before: MemberEvent | undefined, event: MemberEvent): void {
  const isJoined = event.type === 'joined';
  if (isJoined === (before?.type === 'joined')) throw new Error(`${event.type} follows ${before?.type}`);
  if (before === undefined) return;
  const later = event.incarnation - before.incarnation || event.epoch - before.epoch;
  if (isJoined ? later <= 0 : later !== 0) {
    throw new Error(
      `${event.type} ${event.incarnation}.${event.epoch} follows ${before.incarnation}.${before.epoch}`,
    );
  }
}
