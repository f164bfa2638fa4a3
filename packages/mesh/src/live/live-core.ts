import { setMaxListeners } from 'node:events';
import { Deadline } from '@rdmc/common';
import { Connections } from '../connections.js';
import * as limits from '../constants.js';
import {
  codeOf,
  isCodeOf,
  MeshError,
  meshErrors,
  messageOf,
  protocolError,
  throwIfAborted,
} from '../errors.js';
import { clipText, type Frame, FrameType } from '../frames.js';
import { Heartbeats, type Pace } from '../heartbeats.js';
import { decodeReject, type Hello, type Reject } from '../hello.js';
import { closedError, unreachableMember } from '../join-errors.js';
import { type Introduced, Link } from '../link.js';
import { Listener } from '../listener.js';
import type { Member } from '../member.js';
import type { MeshCore, MeshPeer } from '../mesh-core.js';
import { type MemberLinks, Messaging } from '../messaging.js';
import type { ResolvedLiveOptions } from '../options.js';
import { Security } from '../security.js';
import { Announcements } from './announcements.js';
import { Entrance, inUse } from './entrance.js';
import { decodeStop, encodeStop } from './frames.js';
import { Hellos } from './hellos.js';
import { IntroductionCall } from './introduction-call.js';
import { Introductions } from './introductions.js';
import { JoinProgress } from './join-progress.js';
import { entryOf } from './live-hello.js';
import { checkLiveHello, judgeHello } from './live-hello-check.js';
import type { MemberEvent } from './member-event.js';
import { Membership, type MembershipPort, type Verdict } from './membership.js';
import { Nudges } from './nudges.js';
import { PeerViews } from './peer-views.js';
import type { RosterDelta, RosterEntry } from './roster.js';
import { RosterExchange } from './roster-exchange.js';
import { Routes } from './routes.js';
import type { Cause, Epoch } from './timeline.js';
import { verdictError } from './verdict-error.js';

const LIMITS = {
  members: limits.MAX_MEMBERS,
  marks: limits.MAX_ROSTER_MARKS,
  lost: limits.MAX_LOST_MEMBERS,
};
/** Refusals after which this process stops. */
const STOP_CODES: ReadonlySet<string> = new Set(['ERR_RDMC_REPLACED', 'ERR_RDMC_MESH_EVICTED']);

/** Replaced or observed by tests. Not part of the package's interface. */
export interface LiveInternals {
  readonly protocolVersion?: number;
  readonly pendingTickMs?: number;
  readonly nudgeTickMs?: number;
  readonly holderTimeoutMs?: number;
  readonly observeLive?: (core: LiveCore) => void;
}

/**
 * One member of a mesh whose members come and go. `Membership` decides; this class acts for it with sockets and timers, and
 * gives it what they bring.
 */
export class LiveCore implements MeshCore, MemberLinks, MembershipPort {
  readonly options: ResolvedLiveOptions;
  readonly links = new Map<number, Link>();
  readonly messaging: Messaging;
  readonly connections: Connections;
  readonly listener: Listener;
  onEnd: ((error: MeshError) => void) | undefined;
  stopped: MeshError | undefined;
  /** Undefined: this member has no incarnation yet. */
  membership: Membership | undefined;
  readonly #version: number;
  readonly #security: Security | undefined;
  readonly #hellos: Hellos;
  readonly #announcements: Announcements;
  readonly #views: PeerViews;
  readonly #routes: Routes;
  readonly #heartbeats: Heartbeats;
  readonly #introductions: Introductions;
  readonly #rosters: RosterExchange;
  readonly #nudges: Nudges;
  readonly #entrance: Entrance;
  readonly #progress = new JoinProgress();
  readonly #ending = new AbortController();
  readonly #epochs = new WeakMap<Link, Epoch>();
  #isRef = true;
  /** Why calls are refused. */
  #end: MeshError | undefined;
  #closing: Promise<void> | undefined;

  constructor(options: ResolvedLiveOptions, internals: LiveInternals = {}) {
    this.options = options;
    // Each introduction listens to it while it lasts.
    setMaxListeners(0, this.#ending.signal);
    this.#version = internals.protocolVersion ?? limits.PROTOCOL_VERSION;
    this.#security = options.key === undefined ? undefined : Security.ofMesh(options.key);
    this.#hellos = new Hellos({
      options,
      version: this.#version,
      port: () => this.port,
      membership: () => this.membership,
    });
    this.#announcements = new Announcements(options.id, options.logger);
    this.#views = new PeerViews(options.peers, this.links, this.leaves.facts);
    this.messaging = new Messaging(options, this);
    this.listener = this.#makeListener(internals.pendingTickMs);
    this.connections = new Connections({
      options,
      security: this.#security,
      hello: (to, connection) => this.#hellos.further(to, connection),
      linkTo: (member) => this.linkTo(member),
    });
    this.#routes = this.#makeRoutes();
    this.#introductions = this.#makeIntroductions();
    this.#entrance = this.#makeEntrance(internals.holderTimeoutMs);
    this.#rosters = new RosterExchange({
      links: this.links,
      membership: () => this.membership,
      learn: (news) => this.#announcements.step(() => this.membership!.learn(news)),
    });
    this.#heartbeats = this.#makeHeartbeats();
    this.#nudges = new Nudges(
      { waiting: () => this.#routes.waiting, show: (entry) => this.#show(entry) },
      internals.nudgeTickMs,
    );
    internals.observeLive?.(this);
  }

  get failures() {
    return this.#announcements.failures;
  }

  get leaves() {
    return this.#announcements.leaves;
  }

  get events() {
    return this.#announcements.events;
  }

  get peers(): ReadonlyMap<number, MeshPeer> {
    return this.#views.peers;
  }

  get incarnation(): number {
    return this.membership?.self.incarnation ?? 0;
  }

  /** At which the others reach this member. */
  get port(): number {
    return this.options.self.port || this.listener.port;
  }

  get members(): readonly Member[] {
    const entries = [...(this.membership?.roster.entries.values() ?? [])];
    const members = entries.map(({ id, host, port }) => Object.freeze({ id, host, port }));
    return Object.freeze(members.sort((one, other) => one.id - other.id));
  }

  /** Resolves when this member is admitted, and connected to the members of the roster that it got, if they answer. */
  async form(): Promise<void> {
    const { signal, timeoutMs } = this.options;
    const what = `joining as member ${this.options.id}`;
    const late = (): MeshError => this.#progress.timeout(this.options, this.#entrance.lastError);
    const deadline = new Deadline({ timeoutMs, late, signal, what }, (error) => this.#progress.fail(error));
    try {
      throwIfAborted(what, signal);
      await this.listener.listen();
      this.#heartbeats.start();
      this.#entrance.enter().catch((error: unknown) => this.#progress.fail(error));
      await this.#progress.done;
    } catch (error) {
      await this.close();
      throw error;
    } finally {
      deadline.clear();
    }
  }

  linkTo(member: number): Link {
    this.assertOpen();
    const link = this.links.get(member);
    if (link !== undefined) return link;
    throw this.#gone(member);
  }

  assertOpen(): void {
    if (this.#end !== undefined) throw this.#end;
  }

  /** Closes the connection with the member. It stays a member, and is reached for again. The others are not told. */
  reportFailure(member: number, reason: string): void {
    const link = this.links.get(member);
    if (link === undefined) return;
    this.#closed(link, { code: 'ERR_RDMC_MESH_MEMBER_REPORTED', reason: clipText(reason) });
  }

  remove(member: number): void {
    this.#announcements.step(() => this.membership?.remove(member));
  }

  close(): Promise<void> {
    this.#closing ??= this.#shutDown();
    return this.#closing;
  }

  ref(): void {
    this.#isRef = true;
    for (const each of this.#keepers()) each.ref();
  }

  unref(): void {
    this.#isRef = false;
    for (const each of this.#keepers()) each.unref();
  }

  // The port of the membership.

  disconnect(event: MemberEvent, verdict: Verdict | undefined): void {
    const { member } = event;
    const link = this.links.get(member);
    this.links.delete(member);
    link?.dismiss(verdict && encodeStop(verdictError(verdict, member)));
    this.#announcements.remember(event);
    this.#endMember(member);
  }

  announce(event: MemberEvent): void {
    this.#announcements.add(event);
  }

  reach(entry: RosterEntry): void {
    if (this.#end !== undefined) return;
    this.#views.set(entry);
    this.#routes.reach(entry);
  }

  forget(peer: number): void {
    this.#routes.forget(peer);
    if (this.membership?.roster.get(peer) !== undefined) return;
    this.#views.delete(peer);
    this.#progress.settle(peer);
  }

  tell(news: RosterDelta, but?: number): void {
    this.#rosters.tell(news, but);
  }

  stop(verdict: Verdict): void {
    this.#stopWith(verdictError(verdict, this.options.id));
  }

  #adopt(introduced: Introduced): void {
    const { hello, socket } = introduced;
    const { membership } = this;
    const live = hello.live!;
    if (this.#end !== undefined || membership === undefined || judgeHello(hello, live, membership)) {
      socket.destroy();
      this.#retry(hello.from);
      return;
    }
    const entry = entryOf(hello, live);
    const link = new Link(introduced, this.options.maxFrameBytes, {
      frame: (from, frame) => this.#frame(from, frame),
      down: (from, error) => this.#closed(from, { code: error.code, reason: clipText(error.message) }),
    });
    const { incarnation, instance } = entry;
    this.#epochs.set(link, { incarnation, instance, epoch: live.epoch });
    if (!this.#isRef) link.unref();
    this.#nudges.connected();
    this.#announcements.step(() => {
      membership.connected(entry, live.epoch);
      this.links.set(link.peer, link);
      this.#views.set(entry);
    });
    // A newcomer that this member has introduced gets what has changed since.
    const version = this.#introductions.takeVersion(instance);
    if (version !== undefined) this.#rosters.tellSince(link, version);
    this.#progress.settle(link.peer);
    link.start();
  }

  /** An attempt was complete, and its connection was not taken. */
  #retry(id: number): void {
    const entry = this.membership?.roster.get(id);
    if (entry !== undefined && id !== this.options.id && !this.links.has(id)) this.reach(entry);
  }

  #frame(link: Link, { type, payload }: Frame): void {
    const membership = this.membership!;
    switch (type) {
      case FrameType.HEARTBEAT:
        this.#rosters.heard(link, payload);
        break;
      case FrameType.MESSAGE:
      case FrameType.REQUEST:
      case FrameType.REPLY:
        this.messaging.receive(link.peer, { type, payload });
        break;
      case FrameType.ROSTER:
        this.#rosters.received(link, payload);
        break;
      case FrameType.LEAVE:
        this.#announcements.step(() => membership.leaves(link.peer, this.#epochs.get(link)!));
        break;
      case FrameType.REJECT: {
        // The other end refused between this member's HELLO and its CONFIRM.
        const reject = decodeReject(payload);
        this.#stopIfTold(reject);
        throw new MeshError('ERR_RDMC_MESH_MEMBER_LOST', `it refused: ${reject.message}`);
      }
      case FrameType.STOP:
        this.#stopIfTold(decodeStop(payload));
        break;
      default:
        throw protocolError(`member ${link.peer} sent frame type ${type}, which is not valid here`);
    }
  }

  #closed(link: Link, cause: Cause): void {
    if (this.#end !== undefined) return;
    this.#nudges.lost();
    this.#announcements.step(() => this.membership!.closed(link.peer, this.#epochs.get(link)!, cause));
  }

  #silent(link: Link): void {
    const { silenceMs } = this.#pace();
    this.#closed(link, {
      code: 'ERR_RDMC_MESH_MEMBER_SILENT',
      reason: `it sent nothing for ${silenceMs} ms`,
    });
  }

  #stopIfTold(told: Pick<Reject, 'code' | 'message' | 'holder'>): void {
    const { code, message, holder } = told;
    if (!STOP_CODES.has(code) || !isCodeOf(meshErrors, code)) return;
    this.#stopWith(new MeshError(code, message, { memberId: this.options.id, holder }));
  }

  /** The id belongs to another process. All connections end without a LEAVE, which would speak for that process. */
  #stopWith(error: MeshError): void {
    if (this.#end !== undefined) return;
    this.#end = error;
    this.#progress.fail(inUse(error));
    this.options.logger.error?.({ code: error.code }, `mesh: ${error.message}`);
    const lost = [...this.links.values()];
    this.links.clear();
    for (const link of lost) link.dismiss();
    const { code, message: reason } = error;
    const events = lost.map((link): MemberEvent => {
      const { incarnation, epoch } = this.#epochs.get(link)!;
      return { type: 'lost', member: link.peer, incarnation, epoch, code, reason };
    });
    this.#announcements.step(() => {
      for (const event of events) this.#announcements.remember(event);
      for (const event of events) this.#endMember(event.member);
      for (const event of events) this.#announcements.add(event);
    });
    this.stopped = error;
    // After the announcements, also where this is a part of a larger step.
    queueMicrotask(() => {
      this.onEnd?.(error);
      void this.close();
    });
  }

  async #shutDown(): Promise<void> {
    this.#end ??= closedError();
    const links = [...this.links.values()];
    this.links.clear();
    this.#ending.abort(this.#end);
    this.#heartbeats.stop();
    this.#nudges.stop();
    this.#routes.stop();
    this.#introductions.close();
    this.messaging.close(this.#end);
    this.connections.close();
    this.#announcements.clearListeners();
    await Promise.all([...links.map((link) => link.leave()), this.listener.close()]);
  }

  #endMember(member: number): void {
    const error = this.#gone(member);
    this.messaging.rejectMember(member, error);
    this.messaging.dropKept(member);
    this.connections.endMember(member, error);
  }

  #gone(member: number): MeshError {
    return unreachableMember(member, this.options, this.failures.facts, this.leaves.facts);
  }

  #pace(): Pace {
    const { heartbeatMs, silenceTimeoutMs } = this.options;
    const intervalMs = Math.max(heartbeatMs, limits.HEARTBEAT_MS_PER_MEMBER * (this.links.size + 1));
    return {
      tickMs: Math.max(1, Math.floor(intervalMs / limits.TICKS_PER_HEARTBEAT)),
      ticks: limits.TICKS_PER_HEARTBEAT,
      silenceMs:
        silenceTimeoutMs === 0 ? 0 : Math.max(silenceTimeoutMs, limits.SILENT_HEARTBEATS * intervalMs),
    };
  }

  /** Shows this member to a peer that does not connect. */
  async #show(entry: RosterEntry): Promise<void> {
    const membership = this.membership!;
    try {
      const call = await IntroductionCall.dial({
        to: entry,
        hello: this.#hellos.introduction(entry.id),
        security: this.#security,
        maxFrameBytes: this.options.maxFrameBytes,
        signal: this.#ending.signal,
        judge: (hello) => this.#hellos.judgeClaim(hello),
      });
      await call.introduce({ entry: membership.self, replace: true }).finally(() => call.close());
    } catch (error) {
      if (error instanceof MeshError) this.#missed(entry.id, error);
    }
  }

  #missed(id: number, error: MeshError): void {
    if (this.#end !== undefined) return;
    this.#stopIfTold(error);
    this.#progress.missed(id, error);
  }

  #keepers(): { ref(): void; unref(): void }[] {
    return [this.listener, this.#heartbeats, this.#routes, ...this.links.values()];
  }

  #makeListener(pendingTickMs: number | undefined): Listener {
    const events = {
      check: (hello: Parameters<typeof checkLiveHello>[0], from: string) =>
        checkLiveHello(hello, from, {
          options: this.options,
          version: this.#version,
          gathering: false,
          current: (member) => this.links.get(member)?.hello,
          hasRoom: (member) => this.connections.hasRoom(member),
          clusterId: this.options.clusterId,
          membership: this.membership,
        }),
      answer: (hello: Hello) => this.#hellos.answer(hello),
      connected: (introduced: Introduced) => this.#accept(introduced),
      refused: (error: MeshError) => this.#log(error, `mesh: refused: ${error.message}`),
      refusedByCaller: (reject: Reject) => this.#stopIfTold(reject),
      dropped: (error: unknown, from: string) =>
        this.#log(error, `mesh: closed the connection from ${from}: ${messageOf(error)}`),
    };
    return new Listener(this.options, this.#security, this.#version, events, pendingTickMs);
  }

  #log(error: unknown, text: string): void {
    this.options.logger.warn?.({ code: codeOf(error) }, text);
  }

  #accept(introduced: Introduced): void {
    const { connection, live } = introduced.hello;
    if (connection !== undefined) this.connections.accept(introduced);
    else if (live!.isIntroduction) void this.#introductions.accept(introduced);
    else this.#adopt(introduced);
  }

  #makeRoutes(): Routes {
    return new Routes({
      id: this.options.id,
      security: this.#security,
      hello: (to) => this.#hellos.link(to, this.membership!.nextEpoch(to)),
      connected: (introduced) => this.#adopt(introduced),
      judge: (hello) => this.#hellos.judgeAnswer(hello),
      failed: (id, error) => this.#missed(id, error),
    });
  }

  #makeIntroductions(): Introductions {
    return new Introductions({
      version: this.#version,
      logger: this.options.logger,
      roster: () => this.#rosters.news(),
      rosterVersion: () => this.membership!.roster.version,
      introduce: ({ entry, replace }) => {
        this.assertOpen();
        const step = () => this.membership!.introduce(entry, replace);
        const verdict = this.#announcements.step(step);
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
        this.#announcements.step(() => this.membership!.learn(news));
        const lost = new Set([...news.lost, this.options.id]);
        const awaited = news.entries.map(({ id }) => id).filter((id) => !lost.has(id) && !this.links.has(id));
        this.#progress.admitted(awaited);
      },
    });
  }

  #begin(incarnation: number): RosterEntry {
    this.assertOpen();
    const known = this.membership?.self;
    // An attempt through another address keeps the incarnation, unless another process has taken it meanwhile.
    if (known !== undefined && known.incarnation >= incarnation) return known;
    for (const link of this.links.values()) link.dismiss();
    this.links.clear();
    const entry = this.#hellos.entry(incarnation);
    this.membership = new Membership(entry, this, LIMITS);
    return entry;
  }

  #makeHeartbeats(): Heartbeats {
    return new Heartbeats(this.links, {
      pace: () => this.#pace(),
      heartbeat: (link) => this.#rosters.heartbeat(link),
      isDue: (link) => this.#rosters.isDue(link),
      ticked: () => this.#rosters.ticked(),
      silent: (link) => this.#silent(link),
    });
  }
}
