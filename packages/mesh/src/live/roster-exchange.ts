import { TICKS_PER_HEARTBEAT } from '../constants.js';
import { protocolError } from '../errors.js';
import { encodeFrame, FrameType } from '../frames.js';
import type { Link } from '../link.js';
import { decodeRoster, encodeRoster, type RosterNews } from './frames.js';
import type { Membership } from './membership.js';
import { Repairs } from './repairs.js';
import { ROSTER_DIGEST_BYTES, type RosterDelta } from './roster.js';

export interface RosterExchangeContext {
  readonly links: ReadonlyMap<number, Link>;
  /** Undefined: this member has no incarnation yet. */
  membership(): Membership | undefined;
  learn(news: RosterDelta): void;
}

/** How rosters become equal: single changes, digests in heartbeats, and whole rosters where digests differ. */
export class RosterExchange {
  readonly #context: RosterExchangeContext;
  readonly #repairs = new Repairs();
  /** The digest that a peer was told. */
  readonly #told = new WeakMap<Link, Buffer>();
  #ticks = 0;

  constructor(context: RosterExchangeContext) {
    this.#context = context;
  }

  /** All that this member knows. */
  news(): RosterNews {
    const { roster, lost } = this.#context.membership()!;
    return { ...roster.whole(), lost: [...lost], isWhole: false };
  }

  heartbeat(link: Link): Buffer {
    const digest = this.#context.membership()?.roster.digest ?? Buffer.alloc(ROSTER_DIGEST_BYTES);
    this.#told.set(link, digest);
    return encodeFrame(FrameType.HEARTBEAT, digest);
  }

  /** Whether the peer was told another digest. */
  isDue(link: Link): boolean {
    return this.#told.get(link) !== this.#context.membership()?.roster.digest;
  }

  heard(link: Link, payload: Buffer): void {
    if (payload.length !== ROSTER_DIGEST_BYTES)
      throw protocolError(`a heartbeat of member ${link.peer} has ${payload.length} bytes`);
    this.#repairs.heard(link, Buffer.from(payload), this.#context.membership()!.roster.version);
  }

  received(link: Link, payload: Buffer): void {
    const news = decodeRoster(payload);
    const { roster } = this.#context.membership()!;
    const missing = news.isWhole ? roster.missingFrom(news) : undefined;
    this.#context.learn(news);
    if (missing !== undefined) this.#send(link, missing);
  }

  /** A single change, for all peers. */
  tell(news: RosterDelta, but?: number): void {
    const frame = encodeRoster({ ...news, lost: [], isWhole: false });
    for (const link of this.#context.links.values()) if (link.peer !== but) link.send(frame);
  }

  /** What has changed after a version of this member's roster. */
  tellSince(link: Link, version: number): void {
    this.#send(link, this.#context.membership()!.roster.since(version));
  }

  /** Once in an interval of heartbeats, some peers whose rosters differ get this one. */
  ticked(): void {
    this.#ticks = (this.#ticks + 1) % TICKS_PER_HEARTBEAT;
    const membership = this.#context.membership();
    if (this.#ticks !== 0 || membership === undefined) return;
    const { digest, version } = membership.roster;
    const links = this.#repairs.take(this.#context.links.values(), digest, version);
    if (links.length === 0) return;
    const frame = encodeRoster({ ...this.news(), isWhole: true });
    for (const link of links) link.send(frame);
  }

  #send(link: Link, { entries, marks }: RosterDelta): void {
    if (entries.length + marks.length > 0)
      link.send(encodeRoster({ entries, marks, lost: [], isWhole: false }));
  }
}
