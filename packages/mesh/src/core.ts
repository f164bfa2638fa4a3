import { Deadline, type Levels } from '@rdmc/common';
import { ClosePeers } from './close-peers.js';
import { Connections } from './connections.js';
import { Connector, type ConnectorContext } from './connector.js';
import { PROTOCOL_VERSION } from './constants.js';
import { type AbortError, MeshError, protocolError, throwIfAborted } from './errors.js';
import { FixedPeers } from './fixed-peers.js';
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
import { closedError, lostWhileForming } from './join-errors.js';
import { Joining, type Phase } from './joining.js';
import { type Introduced, Link } from './link.js';
import type { MemberEvents } from './live/member-events.js';
import type { Member } from './member.js';
import type { MemberFacts } from './member-facts.js';
import type { MeshCore, MeshPeer } from './mesh-core.js';
import { type MemberLinks, Messaging } from './messaging.js';
import type { ResolvedOptions } from './options.js';
import { Security } from './security.js';

/** Replaced or observed by tests. Not part of the package's interface. */
export interface Internals {
  readonly protocolVersion?: number;
  readonly levels?: Levels;
  /** Of the listener, in place of HANDSHAKE_TICK_MS. */
  readonly pendingTickMs?: number;
  readonly observe?: (core: Core) => void;
}

const HEARTBEAT = encodeFrame(FrameType.HEARTBEAT);
const DISTANT_HEARTBEAT = encodeFrame(FrameType.HEARTBEAT, Buffer.alloc(1));

/** Errors of a join after which the same member may join again. All others are final. */
const PASSING_CODES: ReadonlySet<string> = new Set(['ERR_RDMC_MESH_TIMEOUT', 'ERR_RDMC_ABORTED']);

/** One member's state: its links, its knowledge of the others, and the phase of joining. */
export class Core implements MeshCore, MemberLinks {
  readonly options: ResolvedOptions;
  readonly links = new Map<number, Link>();
  readonly incarnation = 0;
  onEnd: ((error: MeshError) => void) | undefined;
  readonly stopped = undefined;
  readonly messaging: Messaging;
  readonly connector: Connector;
  readonly connections: Connections;
  readonly #joining: Joining;
  readonly #others: FixedPeers;
  readonly #heartbeats: Heartbeats;
  readonly #close: ClosePeers;
  #closing: Promise<void> | undefined;

  constructor(options: ResolvedOptions, internals: Internals) {
    this.options = options;
    this.#joining = new Joining(options.peers);
    this.messaging = new Messaging(options, this);
    this.#close = new ClosePeers(options.id, options.peers.keys());
    this.#others = new FixedPeers(options, (member, reason) => {
      this.#close.ended(member);
      this.messaging.rejectMember(member, reason);
      this.connections.endMember(member, reason);
    });
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
      heartbeat: (_, isDistant) => (isDistant ? DISTANT_HEARTBEAT : HEARTBEAT),
      // Until then a connection that does not work delays all, and its two members find out by themselves.
      isDistant: (link) => this.phase === 'formed' && !this.#close.has(link.peer),
      silent: (link, silentMs) => this.#silent(link, silentMs),
    });
    internals.observe?.(this);
  }

  /** Resolves when every peer is connected to all members and has sent READY. */
  async form(): Promise<void> {
    const { signal, timeoutMs } = this.options;
    const what = `joining as member ${this.options.id}`;
    const late = () => this.connector.timeoutError(this.#joining.ready);
    const limits = { timeoutMs, late, signal, what };
    const deadline = new Deadline(limits, (error) => this.#failJoin(error as MeshError | AbortError));
    try {
      throwIfAborted(what, signal);
      await this.connector.listener.listen();
      if (this.phase === 'gathering') this.#begin();
      await this.#joining.settled;
      this.#others.joined();
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

  get phase(): Phase {
    return this.#joining.phase;
  }

  get failures(): MemberFacts<MeshFailure> {
    return this.#others.failures;
  }

  get leaves(): MemberFacts<number> {
    return this.#others.leaves;
  }

  get events(): MemberEvents {
    return this.#others.events;
  }

  linkTo(member: number): Link {
    this.assertOpen();
    const link = this.links.get(member);
    if (link !== undefined) return link;
    throw this.#others.unreachable(member);
  }

  assertOpen(): void {
    if (this.phase === 'closed') throw closedError();
  }

  get members(): readonly Member[] {
    return this.options.members;
  }

  get peers(): ReadonlyMap<number, MeshPeer> {
    return this.#others.described;
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
    if (this.phase === 'closed' || this.#others.isGone(member)) return;
    const link = this.links.get(member);
    this.links.delete(member);
    // The member itself is told too: it may be alive, and it does not belong to the mesh any more.
    link?.dismiss(encodeFailure(failure));
    this.#sendAll(encodeFailure(failure));
    this.#others.failed([failure]);
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
    this.#joining.ready.delete(link.peer);
    this.links.set(link.peer, link);
    this.#others.introduced(link.peer, link.hello);
    // The state first: the frames behind the peer's HELLO are handled by it.
    this.#advance();
    link.start();
  }

  #advance(): void {
    this.#joining.advance(this.links.size, () => this.#sendAll(encodeFrame(FrameType.READY)));
  }

  #frame(link: Link, frame: Frame): void {
    switch (frame.type) {
      case FrameType.HEARTBEAT:
        link.peerIsDistant = frame.payload.length > 0;
        break;
      case FrameType.READY:
        this.#joining.ready.add(link.peer);
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
    this.#others.failed(failures);
  }

  #left(link: Link): void {
    if (!this.#joining.ready.has(link.peer) || this.phase === 'gathering') {
      throw protocolError(`member ${link.peer} left before the mesh had formed`);
    }
    this.links.delete(link.peer);
    link.dismiss();
    this.#others.left(link.peer);
  }

  #aborted(link: Link, payload: Buffer): void {
    const { code, message, final } = decodeAbort(payload);
    const text = clipText(`member ${link.peer} gave up joining (${code}): ${message}`);
    const error = new MeshError('ERR_RDMC_MESH_JOIN_ABORTED', text, { memberId: link.peer });
    link.dismiss();
    if (final && this.phase === 'gathering') this.#failJoin(error);
    else this.#linkDown(link, error);
  }

  #silent(link: Link, silentMs: number): void {
    const reason = `it sent nothing for ${silentMs} ms`;
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
    this.#joining.ready.delete(link.peer);
    this.connector.again(link.peer, error);
  }

  /** A member that sent READY may have finished joining, and so may the members that received it. */
  #lose(failure: MeshFailure): void {
    const partOfMesh = this.phase !== 'gathering' && this.#joining.ready.has(failure.member);
    if (partOfMesh) this.fail(failure);
    else this.#failJoin(lostWhileForming(failure));
  }

  #failJoin(error: MeshError | AbortError): void {
    if (this.phase === 'formed' || this.phase === 'closed') return;
    this.#joining.fail(error);
    const notice = {
      code: error.code,
      message: clipText(error.message),
      final: !PASSING_CODES.has(error.code),
    };
    for (const link of this.links.values()) link.dismiss(encodeAbort(notice));
    this.links.clear();
    this.#stop();
  }

  #stop(): void {
    this.#heartbeats.stop();
    this.connector.stopDialling();
    this.messaging.close(closedError());
    this.connections.close();
    this.#others.clearListeners();
  }

  async #shutDown(): Promise<void> {
    this.#joining.close();
    const links = [...this.links.values()];
    this.links.clear();
    this.#stop();
    await Promise.all([...links.map((link) => link.leave()), this.connector.listener.close()]);
  }

  #sendAll(frame: Buffer): void {
    for (const link of this.links.values()) link.send(frame);
  }
}
