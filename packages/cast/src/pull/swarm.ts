import { Deferred, settledWithin } from '@rdmc/common';
import { LAST_FRAME_TIMEOUT_MS, MAX_PULL_MESSAGE_BYTES, MIN_PULL_MESSAGE_BYTES } from '../constants.js';
import type { BlockSet } from '../delta/block-set.js';
import { AbortError, CastError, toCastError } from '../errors.js';
import { messageSize } from '../message-size.js';
import { StallWatch } from '../sender/stall-watch.js';
import { FetchReports } from './fetch-reports.js';
import type { FetcherLink } from './fetcher-link.js';
import type { ServerFrameOf } from './frames.js';
import { Leaders } from './leaders.js';
import { sendOffer } from './offer.js';
import type { OriginFacts } from './origin.js';
import type { ChangedFile } from './reader-orders.js';
import { SwarmMesh } from './swarm-mesh.js';
import type { SwarmParts } from './swarm-parts.js';
import { SwarmRuns } from './swarm-runs.js';

/** The fetchers of one name, or the receivers of a gathering cast, which form one cast. */
export class Swarm {
  /** A file has changed since it was hashed: later fetchers begin another swarm. */
  isStale = false;
  /** Whether enough fetchers were ready at the same time. */
  isOpen = false;
  readonly #links: FetcherLink[] = [];
  readonly #over = new AbortController();
  readonly #watch: StallWatch<FetcherLink>;
  /** Undefined until a fetcher lacks something. */
  #runs: SwarmRuns | undefined;
  #mesh: Promise<SwarmMesh> | undefined;
  #nextId = 1;
  readonly #leaders: Leaders;
  /** Fetchers that have said what they have, and can begin. */
  readonly #ready = new Set<FetcherLink>();
  /** Resolves when enough fetchers were ready at the same time. */
  readonly #open = new Deferred<void>();
  readonly #withdrawn: ServerFrameOf<'withdrawn'>[] = [];
  /** Fetchers that have the whole offer: they are told of files that change. */
  readonly #offered = new Set<FetcherLink>();
  readonly #ended = new Deferred<boolean>();

  constructor(private readonly parts: SwarmParts) {
    const { facts, options } = parts;
    // Each fetcher gets the error.
    facts.catch(() => {});
    this.#leaders = new Leaders(options.logger);
    this.#watch = new StallWatch(
      options.stallTimeoutMs,
      () => this.#links,
      () => this.#runs?.receiving ?? [],
      () => this.#runs?.isSending === true,
      (link, error) => this.#drop(link, error),
    );
  }

  /** Bytes of contents that were handed to groups. */
  get sentBytes(): number {
    return this.#runs?.sentBytes ?? 0;
  }

  /** A byte for each piece, not 0 where it was sent to a fetcher; empty where nothing was sent. */
  get sent(): Uint8Array {
    return this.#runs?.sent ?? new Uint8Array(0);
  }

  /** Serves one fetcher, until it has everything or is lost; errors become events. */
  async serve(link: FetcherLink): Promise<void> {
    const { name, report, facts: surveyed, options } = this.parts;
    const reports = new FetchReports(link, name, report);
    this.#links.push(link);
    try {
      const facts = await Promise.race([surveyed, link.down]);
      if (facts) reports.surveyed(facts);
      const has = facts && (await this.#compare(link, facts));
      if (facts && has) {
        const { pieces } = facts;
        const lacking = pieces - has.count;
        const fetchers = this.#links.length;
        reports.began({ pieces, lacking, fetchers, encrypted: options.encrypt });
        if (lacking > 0) await this.#feed(link, facts, has);
        else await this.#enter(link);
        if (link.alive) await link.finish();
      }
    } catch (error) {
      link.fail(toCastError(error, 'ERR_RDMC_CAST_PROTOCOL'));
    }
    reports.stop();
    reports.ended();
    // Where that is not possible, a fetcher that says it would keep the others waiting.
    const mayServeOn = this.parts.look !== undefined && !this.isStale;
    if (link.done?.servesOn && mayServeOn) await this.#serveOn(link, await surveyed);
    await this.#leave(link);
    if (link.done) await link.close();
  }

  /** A fetcher has everything, and serves on. Resolves when it leaves. */
  async #serveOn(link: FetcherLink, facts: OriginFacts): Promise<void> {
    if (link.id === 0 && !(await this.#connect(link, facts).catch(() => false))) return;
    await this.#leaders.keep(link);
  }

  /**
   * Whether a fetcher that comes now joins this swarm. Where only fetchers are left that serve on, what is served may have
   * changed: the reader looks again, and if it has, the swarm is stale.
   */
  async isCurrent(): Promise<boolean> {
    const { facts, look } = this.parts;
    if (this.isStale || !look || this.#leaders.count === 0) return !this.isStale;
    if (this.#links.length > this.#leaders.count) return true;
    const now = await look().catch(() => undefined);
    if (now?.root !== (await facts).root) this.#becomeStale();
    return !this.isStale;
  }

  /** Resolves when it is closed: whether its reader is free for another swarm. */
  get ended(): Promise<boolean> {
    return this.#ended.promise;
  }

  /** Whether it does not have a fetcher. */
  get isIdle(): boolean {
    return this.#links.length === 0;
  }

  /** The server closes: tells all fetchers. */
  abort(reason: CastError | AbortError): void {
    for (const link of [...this.#links]) link.fail(toCastError(reason, 'ERR_RDMC_ABORTED'));
    this.#leaders.release(reason);
    this.#over.abort(reason);
  }

  /** Call when it does not have a fetcher any more. */
  async close(): Promise<void> {
    this.#watch.stop();
    this.#over.abort(new AbortError('the pull', this.#over.signal));
    // The reader writes to memory of the mesh. One that hangs on its disk ends first.
    const isQuiet = await settledWithin(this.#runs?.looping ?? Promise.resolve(), LAST_FRAME_TIMEOUT_MS);
    if (!isQuiet) await this.parts.reader.end();
    const mesh = await this.#mesh?.catch(() => undefined);
    await mesh?.close();
    this.#ended.resolve(isQuiet);
  }

  /** Sends the offer, and returns what the fetcher has; undefined where it fails first. */
  async #compare(link: FetcherLink, facts: OriginFacts): Promise<BlockSet | undefined> {
    const have = link.have(facts.pieces);
    const { castId, reader, options } = this.parts;
    await sendOffer(link, facts, { castId, stallTimeoutMs: options.stallTimeoutMs }, reader);
    for (const frame of this.#withdrawn) link.send(frame);
    this.#offered.add(link);
    const has = await have;
    const lacks = (cost: number, piece: number): number => (has?.has(piece) ? 0 : cost);
    link.lackingBytes = facts.costs.reduce((sum, cost, piece) => sum + lacks(cost, piece), 0);
    return has;
  }

  /** Resolves when enough fetchers are ready, or when this one has failed. */
  #enter(link: FetcherLink): Promise<void> {
    this.#ready.add(link);
    if (this.#ready.size >= this.parts.least) {
      this.isOpen = true;
      this.#open.resolve();
    }
    return Promise.race([this.#open.promise, link.down]);
  }

  /** Resolves when the fetcher lacks nothing, or has failed. */
  async #feed(link: FetcherLink, facts: OriginFacts, has: BlockSet): Promise<void> {
    if (!(await this.#connect(link, facts)) || !link.alive) return;
    this.#runs ??= this.#newRuns(facts);
    const served = this.#runs.join(link.id, has);
    await this.#enter(link);
    if (!link.alive) return;
    this.#runs.begin(link.id);
    await Promise.race([served, link.down]);
  }

  #newRuns({ costs }: OriginFacts): SwarmRuns {
    return new SwarmRuns({
      ...{ swarm: this.parts, costs, mesh: this.#mesh!, leaders: this.#leaders, links: this.#links },
      signal: this.#over.signal,
      drop: (link, error) => this.#drop(link, error),
      onChanged: (changed) => this.#withdraw(changed),
    });
  }

  /** Lets a fetcher join the mesh. Resolves with false where it fails first. */
  async #connect(link: FetcherLink, facts: OriginFacts): Promise<boolean> {
    const messageBytes = messageBytesFor(facts.bytes);
    const { localHost, reader, options } = this.parts;
    this.#mesh ??= SwarmMesh.open(localHost, messageBytes, reader, options, this.#over.signal);
    const { contact, secret } = await this.#mesh;
    link.id = this.#nextId++;
    const { connectTimeoutMs } = options;
    const joined = link.joined();
    link.send({ type: 'mesh', id: link.id, contact, secret, messageBytes, connectTimeoutMs });
    return joined;
  }

  async #leave(link: FetcherLink): Promise<void> {
    this.#links.splice(this.#links.indexOf(link), 1);
    this.#offered.delete(link);
    this.#ready.delete(link);
    this.#runs?.leave(link.id);
    if (link.id === 0 || link.done) return;
    const mesh = await this.#mesh?.catch(() => undefined);
    mesh?.remove(link.id, link.failure?.message ?? 'the server dropped it');
  }

  /** Later fetchers begin another swarm; those that serve on have the files of this one. */
  #becomeStale(): void {
    this.isStale = true;
    this.#leaders.release(new CastError('ERR_RDMC_FILE_CHANGED', 'a file changed at the server'));
  }

  #withdraw(changed: readonly ChangedFile[]): void {
    this.#becomeStale();
    for (const file of changed) {
      this.#runs!.withdraw(file);
      const { entry, message } = file;
      const frame = { type: 'withdrawn', code: 'ERR_RDMC_FILE_CHANGED', message } as const;
      this.#withdrawn.push({ ...frame, entries: [entry] });
      for (const link of this.#offered) link.send({ ...frame, entries: [entry] });
    }
  }

  #drop(link: FetcherLink, error: CastError): void {
    link.fail(error);
    this.parts.options.logger?.warn?.({ fetcher: link.name, code: error.code }, error.message);
  }
}

/** Multiples of the step of messages, so that the region of one is as long. */
function messageBytesFor(bytes: number): number {
  return Math.max(MIN_PULL_MESSAGE_BYTES, messageSize(bytes, MAX_PULL_MESSAGE_BYTES));
}
