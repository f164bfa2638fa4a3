import type { MeshError } from '../errors.js';
import { clipText, type Frame } from '../frames.js';
import { type Introduced, Link } from '../link.js';
import type { ResolvedLiveOptions } from '../options.js';
import { entryOf } from './live-hello.js';
import { judgeHello } from './live-hello-check.js';
import { firstHeartbeatDelay } from './live-pace.js';
import type { MemberEvent } from './member-event.js';
import type { Membership } from './membership.js';
import type { RosterEntry } from './roster.js';
import type { Cause, Epoch } from './timeline.js';

export interface PeerLinksContext {
  readonly options: ResolvedLiveOptions;
  /** The connections in use, by peer. */
  readonly links: Map<number, Link>;
  /** Undefined: this member has no incarnation yet. */
  membership(): Membership | undefined;
  /** This member takes no connection any more. */
  isEnded(): boolean;
  /** Runs a step of the membership; its events are announced afterwards. */
  step(act: () => void): void;
  /** May throw ERR_RDMC_MESH_PROTOCOL, which ends the link. */
  frame(link: Link, frame: Frame): void;
  /** The link is in use: its frames follow. Called within the step. */
  connected(link: Link, entry: RosterEntry): void;
  /** After the step. */
  settled(link: Link, entry: RosterEntry): void;
  /** A connection ends that its peer did not end by leaving. */
  lost(): void;
  /** A connection was complete and was not taken, and the peer is not connected. */
  again(entry: RosterEntry): void;
}

/** The connections in use: one with each peer. */
export class PeerLinks {
  readonly #context: PeerLinksContext;
  readonly #epochs = new WeakMap<Link, Epoch>();
  #isRef = true;

  constructor(context: PeerLinksContext) {
    this.#context = context;
  }

  /** Of a link that was adopted. */
  epochOf(link: Link): Epoch {
    return this.#epochs.get(link)!;
  }

  /** Takes a connection whose handshake is complete, unless something has happened since. */
  adopt(introduced: Introduced): void {
    const { hello, socket } = introduced;
    const membership = this.#context.membership();
    const live = hello.live!;
    if (this.#context.isEnded() || membership === undefined || judgeHello(hello, live, membership)) {
      socket.destroy();
      this.#again(hello.from);
      return;
    }
    const entry = entryOf(hello, live);
    const link = this.#linkOf(introduced);
    const { incarnation, instance } = entry;
    this.#epochs.set(link, { incarnation, instance, epoch: live.epoch });
    link.delayHeartbeat(firstHeartbeatDelay(this.#context.options, membership.roster.entries.size));
    if (!this.#isRef) link.unref();
    this.#context.step(() => {
      membership.connected(entry, live.epoch);
      this.#context.links.set(link.peer, link);
      this.#context.connected(link, entry);
    });
    this.#context.settled(link, entry);
    link.start();
  }

  /** The connection ended, or is to end. The peer stays a member. */
  close(link: Link, { code, reason }: Cause): void {
    if (this.#context.isEnded()) return;
    this.#context.lost();
    const cause = { code, reason: clipText(reason) };
    this.#context.step(() => this.#context.membership()!.closed(link.peer, this.epochOf(link), cause));
  }

  /** Ends all connections without a LEAVE. The events are the caller's to announce. */
  dismissAll({ code, message: reason }: MeshError): MemberEvent[] {
    const { links } = this.#context;
    const lost = [...links.values()];
    links.clear();
    for (const link of lost) link.dismiss();
    return lost.map((link) => {
      const { incarnation, epoch } = this.epochOf(link);
      return { type: 'lost', member: link.peer, incarnation, epoch, code, reason };
    });
  }

  ref(): void {
    this.#isRef = true;
    for (const link of this.#context.links.values()) link.ref();
  }

  unref(): void {
    this.#isRef = false;
    for (const link of this.#context.links.values()) link.unref();
  }

  #linkOf(introduced: Introduced): Link {
    return new Link(introduced, this.#context.options.maxFrameBytes, {
      frame: (from, frame) => this.#context.frame(from, frame),
      down: (from, { code, message }) => this.close(from, { code, reason: message }),
    });
  }

  #again(id: number): void {
    const { options, links } = this.#context;
    const entry = this.#context.membership()?.roster.get(id);
    if (entry !== undefined && id !== options.id && !links.has(id)) this.#context.again(entry);
  }
}
