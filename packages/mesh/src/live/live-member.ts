import { Connections } from '../connections.js';
import * as limits from '../constants.js';
import type { MeshError } from '../errors.js';
import { Heartbeats, type Pace } from '../heartbeats.js';
import { unreachableMember } from '../join-errors.js';
import type { Link } from '../link.js';
import type { Listener } from '../listener.js';
import { type MemberLinks, Messaging } from '../messaging.js';
import type { ResolvedLiveOptions } from '../options.js';
import { Security } from '../security.js';
import { Announcements } from './announcements.js';
import { Ending } from './ending.js';
import { Entrance, inUse } from './entrance.js';
import { Hellos } from './hellos.js';
import { Introductions } from './introductions.js';
import { JoinProgress } from './join-progress.js';
import { LinkFrames } from './link-frames.js';
import { liveListener } from './live-listener.js';
import { livePace } from './live-pace.js';
import { LivePort } from './live-port.js';
import { Membership } from './membership.js';
import { Nudges } from './nudges.js';
import { PeerLinks } from './peer-links.js';
import { PeerViews } from './peer-views.js';
import type { RosterEntry } from './roster.js';
import { RosterExchange } from './roster-exchange.js';
import { Routes } from './routes.js';
import { showMember } from './show-member.js';
import { verdictError } from './verdict-error.js';

const LIMITS = {
  members: limits.MAX_MEMBERS,
  marks: limits.MAX_ROSTER_MARKS,
  lost: limits.MAX_LOST_MEMBERS,
};

/** Parts that tests replace. */
export interface LiveTimes {
  readonly protocolVersion?: number;
  readonly pendingTickMs?: number;
  readonly nudgeTickMs?: number;
  readonly holderTimeoutMs?: number;
}

/**
 * The parts of one member, and what each tells the others. `Membership` decides; the other parts act for it with sockets and
 * timers, and give it what they bring.
 */
export class LiveMember implements MemberLinks {
  readonly links = new Map<number, Link>();
  readonly announcements: Announcements;
  readonly views: PeerViews;
  readonly messaging: Messaging;
  readonly connections: Connections;
  readonly listener: Listener;
  readonly heartbeats: Heartbeats;
  readonly peerLinks: PeerLinks;
  readonly routes: Routes;
  readonly entrance: Entrance;
  readonly progress = new JoinProgress();
  /** Undefined: this member has no incarnation yet. */
  membership: Membership | undefined;
  /** Called when this process does not have its id any more. */
  onStopped: ((error: MeshError) => void) | undefined;
  readonly #security: Security | undefined;
  readonly #hellos: Hellos;
  readonly #introductions: Introductions;
  readonly #rosters: RosterExchange;
  readonly #nudges: Nudges;
  readonly #port: LivePort;
  readonly #ending: Ending;

  constructor(
    readonly options: ResolvedLiveOptions,
    internals: LiveTimes,
  ) {
    this.#ending = new Ending(options.id, (error) => this.#stop(error));
    const version = internals.protocolVersion ?? limits.PROTOCOL_VERSION;
    const membership = () => this.membership;
    this.#security = options.key === undefined ? undefined : Security.ofMesh(options.key);
    this.#hellos = new Hellos({ options, version, port: () => this.port, membership });
    this.announcements = new Announcements(options.id, options.logger);
    this.views = new PeerViews(options.peers, this.links, this.announcements.leaves.facts);
    this.messaging = new Messaging(options, this);
    this.#rosters = new RosterExchange({
      links: this.links,
      membership,
      learn: (news) => this.announcements.step(() => this.membership!.learn(news)),
    });
    this.peerLinks = this.#makePeerLinks();
    this.listener = this.#makeListener(version, internals.pendingTickMs);
    this.connections = new Connections({
      options,
      security: this.#security,
      hello: (to, connection) => this.#hellos.further(to, connection),
      linkTo: (member) => this.linkTo(member),
    });
    this.routes = this.#makeRoutes();
    this.#introductions = this.#makeIntroductions(version);
    this.entrance = this.#makeEntrance(internals.holderTimeoutMs);
    this.heartbeats = this.#makeHeartbeats();
    this.#nudges = new Nudges(
      { waiting: () => this.routes.waiting, show: (entry) => this.#show(entry) },
      internals.nudgeTickMs,
    );
    this.#port = this.#makePort();
  }

  /** At which the others reach this member. */
  get port(): number {
    return this.options.self.port || this.listener.port;
  }

  linkTo(member: number): Link {
    this.assertOpen();
    const link = this.links.get(member);
    if (link !== undefined) return link;
    throw this.#gone(member);
  }

  assertOpen(): void {
    this.#ending.assertOpen();
  }

  /** Leaves: the peers are told. */
  async shutDown(): Promise<void> {
    this.#rosters.flush();
    const links = [...this.links.values()];
    this.links.clear();
    const reason = this.#ending.close();
    this.heartbeats.stop();
    this.#nudges.stop();
    this.routes.stop();
    this.#introductions.close();
    this.messaging.close(reason);
    this.connections.close();
    this.announcements.clearListeners();
    await Promise.all([...links.map((link) => link.leave()), this.listener.close()]);
  }

  /** The id belongs to another process. All connections end without a LEAVE, which would speak for that process. */
  #stop(error: MeshError): void {
    this.progress.fail(inUse(error));
    this.options.logger.error?.({ code: error.code }, `mesh: ${error.message}`);
    const events = this.peerLinks.dismissAll(error);
    this.announcements.step(() => {
      for (const event of events) this.announcements.remember(event);
      for (const event of events) this.#endMember(event.member);
      for (const event of events) this.announcements.add(event);
    });
    this.onStopped?.(error);
  }

  #endMember(member: number): void {
    const error = this.#gone(member);
    this.messaging.rejectMember(member, error);
    this.messaging.dropKept(member);
    this.connections.endMember(member, error);
  }

  #gone(member: number): MeshError {
    const { failures, leaves } = this.announcements;
    return unreachableMember(member, this.options, failures.facts, leaves.facts);
  }

  #pace(): Pace {
    return livePace(this.options, this.links.size);
  }

  async #show(entry: RosterEntry): Promise<void> {
    const context = {
      options: this.options,
      security: this.#security,
      hellos: this.#hellos,
      signal: this.#ending.signal,
    };
    const error = await showMember(context, this.membership!, entry);
    if (error !== undefined) this.#missed(entry.id, error);
  }

  #missed(id: number, error: MeshError): void {
    if (this.#ending.isOver) return;
    this.#ending.stopIfTold(error);
    this.progress.missed(id, error);
  }

  #begin(incarnation: number): RosterEntry {
    this.assertOpen();
    const known = this.membership?.self;
    // An attempt through another address keeps the incarnation, unless another process has taken it meanwhile.
    if (known !== undefined && known.incarnation >= incarnation) return known;
    for (const link of this.links.values()) link.dismiss();
    this.links.clear();
    const entry = this.#hellos.entry(incarnation);
    this.membership = new Membership(entry, this.#port, LIMITS);
    return entry;
  }

  // The parts.

  #makePort(): LivePort {
    return new LivePort({
      links: this.links,
      announcements: this.announcements,
      views: this.views,
      progress: this.progress,
      routes: this.routes,
      rosters: this.#rosters,
      membership: () => this.membership,
      isEnded: () => this.#ending.isOver,
      endMember: (member) => this.#endMember(member),
      stop: (verdict) => this.#ending.stopWith(verdictError(verdict, this.options.id)),
    });
  }

  #makePeerLinks(): PeerLinks {
    const frames = new LinkFrames({
      rosters: this.#rosters,
      messaging: this.messaging,
      leaves: (link) => {
        const epoch = this.peerLinks.epochOf(link);
        this.announcements.step(() => this.membership!.leaves(link.peer, epoch));
      },
      told: (reject) => this.#ending.stopIfTold(reject),
    });
    return new PeerLinks({
      options: this.options,
      links: this.links,
      membership: () => this.membership,
      isEnded: () => this.#ending.isOver,
      step: (act) => this.announcements.step(act),
      frame: (link, frame) => frames.take(link, frame),
      connected: (link, entry) => {
        this.#nudges.connected();
        this.views.set(entry);
        this.#rosters.connected(link);
      },
      settled: (link, { instance }) => {
        // A newcomer that this member has introduced gets what has changed since.
        const version = this.#introductions.takeVersion(instance);
        if (version !== undefined) this.#rosters.tellSince(link, version);
        this.progress.settle(link.peer);
      },
      lost: () => this.#nudges.lost(),
      again: (entry) => this.#port.reach(entry),
    });
  }

  #makeListener(version: number, pendingTickMs: number | undefined): Listener {
    return liveListener({
      options: this.options,
      version,
      security: this.#security,
      pendingTickMs,
      links: this.links,
      hellos: this.#hellos,
      connections: () => this.connections,
      introductions: () => this.#introductions,
      membership: () => this.membership,
      linked: (introduced) => this.peerLinks.adopt(introduced),
      told: (reject) => this.#ending.stopIfTold(reject),
    });
  }

  #makeRoutes(): Routes {
    return new Routes({
      id: this.options.id,
      security: this.#security,
      hello: (to) => this.#hellos.link(to, this.membership!.nextEpoch(to)),
      connected: (introduced) => this.peerLinks.adopt(introduced),
      judge: (hello) => this.#hellos.judgeAnswer(hello),
      failed: (id, error) => this.#missed(id, error),
    });
  }

  #makeIntroductions(version: number): Introductions {
    return new Introductions({
      version,
      logger: this.options.logger,
      roster: () => this.#rosters.news(),
      rosterVersion: () => this.membership!.roster.version,
      introduce: ({ entry, replace }) => {
        this.assertOpen();
        const step = () => this.membership!.introduce(entry, replace);
        const verdict = this.announcements.step(step);
        return verdict && verdictError(verdict, entry.id);
      },
    });
  }

  #makeEntrance(holderTimeoutMs: number | undefined): Entrance {
    return new Entrance({
      options: this.options,
      security: this.#security,
      holderTimeoutMs: holderTimeoutMs ?? limits.HOLDER_TIMEOUT_MS,
      signal: this.#ending.signal,
      hello: () => this.#hellos.newcomer(),
      begin: (incarnation) => this.#begin(incarnation),
      admitted: (news) => {
        this.assertOpen();
        this.announcements.step(() => this.membership!.learn(news));
        const lost = new Set([...news.lost, this.options.id]);
        const awaited = news.entries.map(({ id }) => id).filter((id) => !lost.has(id) && !this.links.has(id));
        this.progress.admitted(awaited);
      },
    });
  }

  #makeHeartbeats(): Heartbeats {
    return new Heartbeats(this.links, {
      pace: () => this.#pace(),
      heartbeat: (link) => this.#rosters.heartbeat(link),
      isDue: (link) => this.#rosters.isDue(link),
      ticked: () => this.#rosters.ticked(),
      silent: (link) => {
        const reason = `it sent nothing for ${this.#pace().silenceMs} ms`;
        this.peerLinks.close(link, { code: 'ERR_RDMC_MESH_MEMBER_SILENT', reason });
      },
    });
  }
}
