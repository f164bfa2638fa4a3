import { REPAIRS_POSTPONED, TICKS_PER_HEARTBEAT } from '../constants.js';
import { protocolError } from '../errors.js';
import { encodeFrame, FrameType } from '../frames.js';
import type { Link } from '../link.js';
import { decodeRoster, encodeRoster, type RosterNews } from './frames.js';
import type { Membership } from './membership.js';
import { NewsBatch } from './news-batch.js';
import { Repairs } from './repairs.js';
import { ROSTER_DIGEST_BYTES, type RosterDelta } from './roster.js';

const NO_DIGEST = Buffer.alloc(ROSTER_DIGEST_BYTES);

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
  readonly #news: NewsBatch;
  /** The same frame is sent to all peers; it is encoded again where the roster has changed. */
  #heartbeat: Buffer = encodeFrame(FrameType.HEARTBEAT, NO_DIGEST);
  #heartbeatOf: Buffer = NO_DIGEST;
  #ticks = 0;
  /** A connection was made in this interval of heartbeats. */
  #isGrowing = false;
  #postponed = 0;

  constructor(context: RosterExchangeContext) {
    this.#context = context;
    this.#news = new NewsBatch((news) => this.#sendAll(news));
  }

  /** All that this member knows. */
  news(): RosterNews {
    const { roster, lost } = this.#context.membership()!;
    return { ...roster.whole(), lost: [...lost], isWhole: false };
  }

  heartbeat(link: Link): Buffer {
    const digest = this.#context.membership()?.roster.digest ?? NO_DIGEST;
    this.#told.set(link, digest);
    if (this.#heartbeatOf !== digest) {
      this.#heartbeatOf = digest;
      this.#heartbeat = encodeFrame(FrameType.HEARTBEAT, digest);
    }
    return this.#heartbeat;
  }

  /** Whether the peer was told another digest. */
  isDue(link: Link): boolean {
    return this.#told.get(link) !== this.#context.membership()?.roster.digest;
  }

  /** The HELLO of a new connection has a digest as well. Call it when this roster has the peer. */
  connected(link: Link): void {
    this.#isGrowing = true;
    const digest = Buffer.from(link.hello.live!.roster, 'hex');
    this.#repairs.heard(link, digest, this.#context.membership()!.roster);
  }

  heard(link: Link, payload: Buffer): void {
    if (payload.length !== ROSTER_DIGEST_BYTES)
      throw protocolError(`a heartbeat of member ${link.peer} has ${payload.length} bytes`);
    this.#repairs.heard(link, payload, this.#context.membership()!.roster);
  }

  received(link: Link, payload: Buffer): void {
    const news = decodeRoster(payload);
    const { roster } = this.#context.membership()!;
    const missing = news.isWhole ? roster.missingFrom(news) : undefined;
    this.#context.learn(news);
    if (missing !== undefined) this.#send(link, missing);
  }

  /** A change, for all peers. The member that it is about may get it as well. */
  tell(news: RosterDelta): void {
    this.#news.add(news);
    const { links } = this.#context;
    // That a connection ends comes before its end: else the others see a loss instead of its reason.
    if (news.marks.length > 0 || news.entries.some(({ id }) => links.has(id))) this.#news.flush();
  }

  /** Sends the changes that wait. */
  flush(): void {
    this.#news.flush();
  }

  /** What has changed after a version of this member's roster. */
  tellSince(link: Link, version: number): void {
    this.#send(link, this.#context.membership()!.roster.since(version));
  }

  /** Once in an interval of heartbeats, some peers whose rosters differ get this one. */
  ticked(): void {
    this.#ticks = (this.#ticks + 1) % TICKS_PER_HEARTBEAT;
    const membership = this.#context.membership();
    if (this.#ticks !== 0 || membership === undefined || this.#postpones()) return;
    const { version } = membership.roster;
    const links = this.#repairs.take(this.#context.links.values(), version);
    if (links.length === 0) return;
    const frame = encodeRoster({ ...this.news(), isWhole: true });
    for (const link of links) link.send(frame);
  }

  /**
   * While connections come, the digests of their HELLOs are those of members without the latest changes: whole rosters
   * would be sent to members that need none.
   */
  #postpones(): boolean {
    const isPostponed = this.#isGrowing && this.#postponed < REPAIRS_POSTPONED;
    this.#postponed = isPostponed ? this.#postponed + 1 : 0;
    this.#isGrowing = false;
    return isPostponed;
  }

  #sendAll(news: RosterDelta): void {
    const frame = encodeRoster({ ...news, lost: [], isWhole: false });
    for (const link of this.#context.links.values()) link.send(frame);
  }

  #send(link: Link, { entries, marks }: RosterDelta): void {
    if (entries.length + marks.length > 0)
      link.send(encodeRoster({ entries, marks, lost: [], isWhole: false }));
  }
}
