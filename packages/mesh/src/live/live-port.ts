import type { Link } from '../link.js';
import type { Announcements } from './announcements.js';
import { encodeStop } from './frames.js';
import type { JoinProgress } from './join-progress.js';
import type { MemberEvent } from './member-event.js';
import type { Membership, MembershipPort, Verdict } from './membership.js';
import type { PeerViews } from './peer-views.js';
import type { RosterDelta, RosterEntry } from './roster.js';
import type { RosterExchange } from './roster-exchange.js';
import type { Routes } from './routes.js';
import { verdictError } from './verdict-error.js';

export interface LivePortContext {
  /** The connections in use, by peer. */
  readonly links: Map<number, Link>;
  readonly announcements: Announcements;
  readonly views: PeerViews;
  readonly progress: JoinProgress;
  readonly routes: Routes;
  readonly rosters: RosterExchange;
  membership(): Membership | undefined;
  /** No peer is reached for any more. */
  isEnded(): boolean;
  /** Ends the requests and the further connections of a peer that is not connected any more. */
  endMember(member: number): void;
  stop(verdict: Verdict): void;
}

/** Acts for the machine of the membership, with sockets and timers. */
export class LivePort implements MembershipPort {
  constructor(private readonly context: LivePortContext) {}

  disconnect(event: MemberEvent, verdict: Verdict | undefined): void {
    const { member } = event;
    const { links, announcements } = this.context;
    const link = links.get(member);
    links.delete(member);
    link?.dismiss(verdict && encodeStop(verdictError(verdict, member)));
    announcements.remember(event);
    this.context.endMember(member);
  }

  announce(event: MemberEvent): void {
    this.context.announcements.add(event);
  }

  reach(entry: RosterEntry): void {
    if (this.context.isEnded()) return;
    this.context.views.set(entry);
    this.context.routes.reach(entry);
  }

  forget(peer: number): void {
    this.context.routes.forget(peer);
    if (this.context.membership()?.roster.get(peer) !== undefined) return;
    this.context.views.delete(peer);
    this.context.progress.settle(peer);
  }

  tell(news: RosterDelta): void {
    this.context.rosters.tell(news);
  }

  stop(verdict: Verdict): void {
    this.context.stop(verdict);
  }
}
