import { Deadline, Deferred } from '@rdmc/common';
import { Connections } from './connections.js';
import { Connector, type ConnectorContext } from './connector.js';
import { PROTOCOL_VERSION } from './constants.js';
import { type AbortError, MeshError, protocolError, throwIfAborted } from './errors.js';
import {
  clipText,
  decodeAbort,
  decodeFailure,
  encodeAbort,
  encodeFailure,
  encodeFrame,
  type Frame,
  FrameType,
  type MeshFailure,
} from './frames.js';
import { Heartbeats, type Pace } from './heartbeats.js';
import { decodeReject } from './hello.js';
import { closedError, lostWhileForming, unreachableMember } from './join-errors.js';
import { type Introduced, Link } from './link.js';
import { MemberEvents } from './live/member-events.js';
import type { Member } from './member.js';
import { MemberFacts } from './member-facts.js';
import type { MeshCore, MeshPeer } from './mesh-core.js';
import { type MemberLinks, Messaging } from './messaging.js';
import type { MeshAttributes, ResolvedOptions } from './options.js';
import { Security } from './security.js';

/** Replaced or observed by tests. Not part of the package's interface. */
export interface Internals {
  readonly protocolVersion?: number;
  /** Of the listener, in place of HANDSHAKE_TICK_MS. */
  readonly pendingTickMs?: number;
  readonly observe?: (core: Core) => void;
}

/**
 * gathering: pairs are being connected, and a lost connection is made again.
 * ready:     every pair of this member is connected, and all members were told. From here on a member may
 *            have finished joining, so a lost connection is a lost member.
 * formed:    all members have sent READY; `join` has resolved.
 * closed:    by `close`, or because joining failed.
 */
export type Phase = 'gathering' | 'ready' | 'formed' | 'closed';

const HEARTBEAT = encodeFrame(FrameType.HEARTBEAT);

/** Errors of a join after which the same member may join again. All others are final. */
const PASSING_CODES: ReadonlySet<string> = new Set(['ERR_RDMC_MESH_TIMEOUT', 'ERR_RDMC_ABORTED']);

/** One member's state: its links, its knowledge of the others, and the phase of joining. */
export class Core implements MeshCore, MemberLinks {
  readonly options: ResolvedOptions;
  readonly links = new Map<number, Link>();
  readonly failures = new MemberFacts<MeshFailure>();
  readonly leaves = new MemberFacts<number>();
  readonly events = new MemberEvents();
  readonly incarnation = 0;
  onEnd: ((error: MeshError) => void) | undefined;
  readonly stopped = undefined;
  readonly messaging: Messaging;
  readonly connector: Connector;
  readonly connections: Connections;
  phase: Phase = 'gathering';
  readonly #saidReady = new Set<number>();
  readonly #attributes = new Map<number, MeshAttributes>();
  readonly #heartbeats: Heartbeats;
  readonly #settled = new Deferred<void>();
  #closing: Promise<void> | undefined;
  #peers: ReadonlyMap<number, MeshPeer> | undefined;

  constructor(options: ResolvedOptions, internals: Internals) {
    this.options = options;
    this.messaging = new Messaging(options, this);
    const context: ConnectorContext = {
      links: this.links,
      isGathering: () => this.phase === 'gathering',
      connected: (introduced) => {
        if (introduced.hello.connection === undefined) this.#adopt(introduced);
        else this.connections.accept(introduced);
      },
      hasRoom: (member) => this.connections.hasRoom(member),
      joinFailed: (error) => this.#failJoin(error),
    };
    const version = internals.protocolVersion ?? PROTOCOL_VERSION;
    const security = options.key === undefined ? undefined : Security.ofMesh(options.key);
    this.connector = new Connector(options, security, version, context, internals.pendingTickMs);
    this.connections = new Connections({
      options,
      security,
      hello: (to, connection) => this.connector.hello(to, connection),
      linkTo: (member) => this.linkTo(member),
    });
    const pace: Pace = { tickMs: options.heartbeatMs, ticks: 1, silenceMs: options.silenceTimeoutMs };
    this.#heartbeats = new Heartbeats(this.links, {
      pace: () => pace,
      heartbeat: () => HEARTBEAT,
      silent: (link) => this.#silent(link),
    });
    internals.observe?.(this);
  }

  /** Resolves when every peer is connected to all members and has sent READY. */
  async form(): Promise<void> {
    const { signal, timeoutMs } = this.options;
    const what = `joining as member ${this.options.id}`;
    const late = () => this.connector.timeoutError(this.#saidReady);
    const limits = { timeoutMs, late, signal, what };
    const deadline = new Deadline(limits, (error) => this.#failJoin(error as MeshError | AbortError));
    try {
      throwIfAborted(what, signal);
      await this.connector.listener.listen();
      if (this.phase === 'gathering') this.#begin();
      await this.#settled.promise;
      for (const member of this.options.peers.keys())
        this.events.publish({ ...head(member), type: 'joined' });
    } catch (error) {
      this.#failJoin(error as MeshError);
      await this.close();
      throw error;
    } finally {
      deadline.clear();
    }
  }

  ref(): void {
    for (const each of this.#keepers()) each.ref();
  }

  unref(): void {
    for (const each of this.#keepers()) each.unref();
  }

  /** What keeps the process alive. No link is added once all members have joined. */
  #keepers(): { ref(): void; unref(): void }[] {
    return [this.connector.listener, this.#heartbeats, ...this.links.values()];
  }

  attributesOf(member: number): MeshAttributes {
    return this.#attributes.get(member) ?? {};
  }

  linkTo(member: number): Link {
    this.assertOpen();
    const link = this.links.get(member);
    if (link !== undefined) return link;
    throw unreachableMember(member, this.options, this.failures.facts, this.leaves.facts);
  }

  assertOpen(): void {
    if (this.phase === 'closed') throw closedError();
  }

  get members(): readonly Member[] {
    return this.options.members;
  }

  get peers(): ReadonlyMap<number, MeshPeer> {
    this.#peers ??= describePeers(this);
    return this.#peers;
  }

  reportFailure(member: number, reason: string): void {
    const code = 'ERR_RDMC_MESH_MEMBER_REPORTED';
    this.fail({ member, reason: clipText(reason), code, reporter: this.options.id });
  }

  remove(member: number): void {
    const text = `member ${member} is in a fixed list of members, from which none is removed; use reportFailure`;
    throw new MeshError('ERR_RDMC_MESH_INVALID_ARGUMENT', text, { memberId: member });
  }

  /** Marks a member failed, once: closes its link, tells all members, rejects the requests to it. */
  fail(failure: MeshFailure): void {
    const { member } = failure;
    const known = this.failures.facts.has(member) || this.leaves.facts.has(member);
    if (this.phase === 'closed' || known) return;
    const link = this.links.get(member);
    this.links.delete(member);
    // The member itself is told too: it may be alive, and it does not belong to the mesh any more.
    link?.dismiss(encodeFailure(failure));
    this.#sendAll(encodeFailure(failure));
    this.#announce([failure]);
    this.#advance();
  }

  close(): Promise<void> {
    this.#closing ??= this.#shutDown();
    return this.#closing;
  }

  #begin(): void {
    this.#heartbeats.start();
    this.connector.dialAll();
    this.#advance();
  }

  #adopt(introduced: Introduced): void {
    const link = new Link(introduced, this.options.maxFrameBytes, {
      frame: (from, frame) => this.#frame(from, frame),
      down: (from, error) => this.#linkDown(from, error),
    });
    this.links.get(link.peer)?.dismiss();
    this.#saidReady.delete(link.peer);
    this.links.set(link.peer, link);
    this.#attributes.set(link.peer, link.hello.attributes);
    // The state first: the frames behind the peer's HELLO are handled by it.
    this.#advance();
    link.start();
  }

  /** Each step of joining follows from the state alone, not from the event that changed it. */
  #advance(): void {
    const { peers } = this.options;
    if (this.phase === 'gathering' && this.links.size === peers.size) {
      this.phase = 'ready';
      this.#sendAll(encodeFrame(FrameType.READY));
    }
    if (this.phase === 'ready' && [...peers.keys()].every((id) => this.#saidReady.has(id))) {
      this.phase = 'formed';
      this.#settled.resolve();
    }
  }

  #frame(link: Link, frame: Frame): void {
    switch (frame.type) {
      case FrameType.HEARTBEAT:
        break;
      case FrameType.READY:
        this.#saidReady.add(link.peer);
        this.#advance();
        break;
      case FrameType.MESSAGE:
      case FrameType.REQUEST:
      case FrameType.REPLY:
        this.messaging.receive(link.peer, frame);
        break;
      case FrameType.FAILURE:
        this.#failureNews(decodeFailure(frame.payload));
        break;
      case FrameType.LEAVE:
        this.#left(link);
        break;
      case FrameType.REJECT:
        // The other end refused between this member's HELLO and its CONFIRM.
        throw new MeshError(
          'ERR_RDMC_MESH_MEMBER_LOST',
          `it refused: ${decodeReject(frame.payload).message}`,
        );
      case FrameType.ABORT:
        this.#aborted(link, frame.payload);
        break;
      default:
        throw protocolError(
          `member ${link.peer} sent frame type ${frame.type}, which is not valid after the HELLO`,
        );
    }
  }

  #failureNews(failure: MeshFailure): void {
    const { member } = failure;
    if (member === this.options.id) {
      this.#evicted(failure);
      return;
    }
    if (!this.options.peers.has(member))
      throw protocolError(`a FAILURE is about member ${member}, which is not in the list`);
    this.#lose(failure);
  }

  /** The others go on without this member. This member treats that as the loss of all others. */
  #evicted({ reporter, reason }: MeshFailure): void {
    const text = clipText(`member ${reporter} declared this member (${this.options.id}) failed: ${reason}`);
    const code = 'ERR_RDMC_MESH_EVICTED';
    if (this.phase !== 'formed') {
      this.#failJoin(new MeshError(code, text));
      return;
    }
    // All links are closed first, so that peers that work are not told of "failed" peers.
    const lost = [...this.links.values()];
    this.links.clear();
    for (const link of lost) link.dismiss();
    const failures = lost.map(({ peer }) => ({ member: peer, reason: text, code, reporter }));
    this.#announce(failures);
  }

  /** All are known as failed before a listener is called for the first: a listener may send to the next one. */
  #announce(failures: readonly MeshFailure[]): void {
    for (const failure of failures) {
      const { member, reason } = failure;
      this.options.logger.warn?.({ ...failure }, `mesh: member ${member} failed: ${reason}`);
    }
    this.failures.publish(failures.map((failure) => [failure.member, failure]));
    for (const { member, code, reason } of failures)
      this.events.publish({ ...head(member), type: 'lost', code, reason });
    for (const { member } of failures) this.#endMember(member);
  }

  /** Rejects the requests to a member that is lost or has left, and closes its further connections. */
  #endMember(member: number): void {
    const reason = unreachableMember(member, this.options, this.failures.facts, this.leaves.facts);
    this.messaging.rejectMember(member, reason);
    this.connections.endMember(member, reason);
  }

  #left(link: Link): void {
    if (!this.#saidReady.has(link.peer) || this.phase === 'gathering') {
      throw protocolError(`member ${link.peer} left before the mesh had formed`);
    }
    this.links.delete(link.peer);
    link.dismiss();
    this.leaves.publish([[link.peer, link.peer]]);
    this.events.publish({ ...head(link.peer), type: 'left' });
    this.#endMember(link.peer);
  }

  #aborted(link: Link, payload: Buffer): void {
    const { code, message, final } = decodeAbort(payload);
    const text = clipText(`member ${link.peer} gave up joining (${code}): ${message}`);
    const error = new MeshError('ERR_RDMC_MESH_JOIN_ABORTED', text, { memberId: link.peer });
    link.dismiss();
    if (final && this.phase === 'gathering') this.#failJoin(error);
    else this.#linkDown(link, error);
  }

  #silent(link: Link): void {
    const reason = `it sent nothing for ${this.options.silenceTimeoutMs} ms`;
    if (this.phase === 'gathering') link.dismiss();
    this.#linkDown(link, new MeshError('ERR_RDMC_MESH_MEMBER_SILENT', reason, { memberId: link.peer }));
  }

  #linkDown(link: Link, error: MeshError): void {
    if (this.links.get(link.peer) !== link || this.phase === 'closed') return;
    if (this.phase !== 'gathering') {
      this.#lose({
        member: link.peer,
        reason: clipText(error.message),
        code: error.code === 'ERR_RDMC_MESH_JOIN_ABORTED' ? 'ERR_RDMC_MESH_MEMBER_LOST' : error.code,
        reporter: this.options.id,
      });
      return;
    }
    this.links.delete(link.peer);
    this.#saidReady.delete(link.peer);
    this.connector.again(link.peer, error);
  }

  /** A member that sent READY may have finished joining, and so may the members that received it. */
  #lose(failure: MeshFailure): void {
    const partOfMesh = this.phase !== 'gathering' && this.#saidReady.has(failure.member);
    if (partOfMesh) this.fail(failure);
    else this.#failJoin(lostWhileForming(failure));
  }

  #failJoin(error: MeshError | AbortError): void {
    if (this.phase === 'formed' || this.phase === 'closed') return;
    this.phase = 'closed';
    const notice = {
      code: error.code,
      message: clipText(error.message),
      final: !PASSING_CODES.has(error.code),
    };
    for (const link of this.links.values()) link.dismiss(encodeAbort(notice));
    this.links.clear();
    this.#stop();
    this.#settled.reject(error);
  }

  #stop(): void {
    this.#heartbeats.stop();
    this.connector.stopDialling();
    this.messaging.close(closedError());
    this.connections.close();
    this.failures.clearListeners();
    this.leaves.clearListeners();
    this.events.clearListeners();
  }

  async #shutDown(): Promise<void> {
    this.phase = 'closed';
    const links = [...this.links.values()];
    this.links.clear();
    this.#stop();
    await Promise.all([...links.map((link) => link.leave()), this.connector.listener.close()]);
  }

  #sendAll(frame: Buffer): void {
    for (const link of this.links.values()) link.send(frame);
  }
}

/** Where the list is fixed, a member has one process, and one connection with each other. */
function head(member: number) {
  return { member, incarnation: 0, epoch: 1 };
}

function describePeers(core: Core): ReadonlyMap<number, MeshPeer> {
  const peers = new Map<number, MeshPeer>();
  for (const { id, host, port } of core.options.peers.values()) {
    peers.set(id, {
      id,
      incarnation: 0,
      attributes: core.attributesOf(id),
      address: Object.freeze({ host, port }),
      get state() {
        if (core.failures.facts.has(id)) return 'failed';
        return core.leaves.facts.has(id) ? 'left' : 'connected';
      },
    });
  }
  return peers;
}
