import { hostname } from 'node:os';
import { Deferred, pause, settledWithin } from '@rdmc/common';
import {
  LAST_FRAME_TIMEOUT_MS,
  MAX_BROKEN_MESSAGES,
  MAX_PULL_MESSAGE_BYTES,
  MIN_PULL_MESSAGE_BYTES,
} from '../constants.js';
import type { BlockSet } from '../delta/block-set.js';
import { AbortError, CastError, protocolError, toCastError } from '../errors.js';
import { messageSize } from '../message-size.js';
import { StallWatch } from '../sender/stall-watch.js';
import { TokenBucket } from '../sender/token-bucket.js';
import { FetchReports } from './fetch-reports.js';
import type { FetcherLink, Took } from './fetcher-link.js';
import type { ServerFrameOf } from './frames.js';
import { sendOffer } from './offer.js';
import type { OriginFacts } from './origin.js';
import type { ChangedFile } from './reader-orders.js';
import { Run, type RunEnvironment } from './run.js';
import { RunBlame } from './run-blame.js';
import { SwarmMesh } from './swarm-mesh.js';
import type { SwarmParts } from './swarm-parts.js';
import { SwarmPlan } from './swarm-plan.js';

/** The fetchers of one name, or the receivers of a gathering cast, which form one cast. */
export class Swarm {
  /** A file has changed since it was hashed: later fetchers begin another swarm. */
  isStale = false;
  /** Whether enough fetchers were ready at the same time. */
  isOpen = false;
  /** A byte for each piece, not 0 where it was sent to a fetcher. */
  sent = new Uint8Array(0);
  readonly #links: FetcherLink[] = [];
  readonly #over = new AbortController();
  readonly #bucket: TokenBucket;
  readonly #watch: StallWatch<FetcherLink>;
  readonly #blame: RunBlame;
  #plan: SwarmPlan | undefined;
  #costs: Float64Array = new Float64Array(0);
  #mesh: Promise<SwarmMesh> | undefined;
  #nextId = 1;
  #runs = 0;
  #run: Run | undefined;
  /** Bytes of contents in the runs that have ended. */
  #sentBytes = 0;
  #isLooping = false;
  /** Resolves when no run is in progress. */
  #looping: Promise<void> = Promise.resolve();
  /** Fetchers that have said what they have, and can begin. */
  readonly #ready = new Set<FetcherLink>();
  /** Resolves when enough fetchers were ready at the same time. */
  readonly #open = new Deferred<void>();
  /** By id: resolves when the fetcher lacks nothing. */
  readonly #served = new Map<number, Deferred<void>>();
  readonly #withdrawn: ServerFrameOf<'withdrawn'>[] = [];
  /** Fetchers that have the whole offer: they are told of files that change. */
  readonly #offered = new Set<FetcherLink>();
  readonly #ended = new Deferred<boolean>();

  constructor(private readonly parts: SwarmParts) {
    const { facts, options, name } = parts;
    // Each fetcher gets the error.
    facts.catch(() => {});
    this.#bucket = new TokenBucket(options.bandwidthLimit);
    const drop = (link: FetcherLink, error: CastError): void => this.#drop(link, error);
    this.#blame = new RunBlame(name, options.logger, drop);
    this.#watch = new StallWatch(
      options.stallTimeoutMs,
      this.#links,
      () => this.#run?.links ?? [],
      () => this.#run?.isSending === true,
      drop,
    );
  }

  /** Bytes of contents that were handed to groups. */
  get sentBytes(): number {
    return this.#sentBytes + (this.#run?.filler.contentBytes ?? 0);
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
    } finally {
      reports.stop();
      await this.#leave(link);
    }
    reports.ended();
    if (link.done) await link.close();
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
    this.#over.abort(reason);
  }

  /** Call when it does not have a fetcher any more. */
  async close(): Promise<void> {
    this.#watch.stop();
    this.#over.abort(new AbortError('the pull', this.#over.signal));
    // The reader writes to memory of the mesh. One that hangs on its disk ends first.
    const isQuiet = await settledWithin(this.#looping, LAST_FRAME_TIMEOUT_MS);
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
    const messageBytes = messageBytesFor(facts.bytes);
    const { localHost, reader, options } = this.parts;
    this.#mesh ??= SwarmMesh.open(localHost, messageBytes, reader, options, this.#over.signal);
    const { contact, secret } = await this.#mesh;
    link.id = this.#nextId++;
    const { connectTimeoutMs } = options;
    const joined = link.joined();
    link.send({ type: 'mesh', id: link.id, contact, secret, messageBytes, connectTimeoutMs });
    if (!(await joined) || !link.alive) return;
    if (!this.#plan) {
      this.#plan = new SwarmPlan(facts.costs);
      this.#costs = facts.costs;
      this.sent = new Uint8Array(facts.pieces);
    }
    const bytes = Uint8Array.from({ length: facts.pieces }, (_, piece) => (has.has(piece) ? 1 : 0));
    this.#plan.join(link.id, bytes);
    const served = new Deferred<void>();
    this.#served.set(link.id, served);
    await this.#enter(link);
    if (!link.alive) return;
    if (this.#run && this.#plan.lacksAny(link.id, this.#run.filler.remaining)) this.#run.filler.stop();
    this.#settle();
    if (!this.#isLooping) this.#looping = this.#loop();
    await Promise.race([served.promise, link.down]);
  }

  async #leave(link: FetcherLink): Promise<void> {
    this.#links.splice(this.#links.indexOf(link), 1);
    this.#offered.delete(link);
    this.#ready.delete(link);
    this.#plan?.leave(link.id);
    this.#served.delete(link.id);
    if (link.id === 0 || link.done) return;
    const mesh = await this.#mesh?.catch(() => undefined);
    mesh?.remove(link.id, link.failure?.message ?? 'the server dropped it');
  }

  /** Sends one run after the other, as long as a fetcher lacks something. */
  async #loop(): Promise<void> {
    this.#isLooping = true;
    try {
      const mesh = await this.#mesh!;
      for (let next = this.#plan!.next(); next && !this.#over.signal.aborted; next = this.#plan!.next()) {
        const ids = new Set(next.members);
        const links = this.#links.filter(({ id, alive }) => alive && ids.has(id));
        // A fetcher that has failed leaves the plan a moment later.
        if (links.length < ids.size) await pause(1);
        else await this.#send(links, next.pieces, mesh);
      }
    } catch (error) {
      const failure = toCastError(error, 'ERR_RDMC_CAST_PROTOCOL');
      for (const link of [...this.#links]) this.#drop(link, failure);
    } finally {
      this.#isLooping = false;
    }
  }

  async #send(
    links: readonly FetcherLink[],
    pieces: Uint32Array<ArrayBuffer>,
    mesh: SwarmMesh,
  ): Promise<void> {
    const run = new Run(++this.#runs, links, pieces, this.#environment(mesh));
    this.#run = run;
    const bytes = pieces.reduce((sum, piece) => sum + this.#costs[piece]!, 0);
    const { error, took } = await run.run(bytes);
    this.#run = undefined;
    const { messages, bytes: sentBytes, contentBytes } = run.filler;
    this.#sentBytes += contentBytes;
    for (const message of messages) for (const piece of message) this.sent[piece] = 1;
    let gained = false;
    for (const [link, its] of took) gained = this.#credit(link, its, messages) || gained;
    this.parts.report({
      type: 'sent',
      name: this.parts.name,
      fetchers: links.length,
      pieces: messages.reduce((sum, each) => sum + each.length, 0),
      bytes: sentBytes,
    });
    this.#settle();
    if (error === undefined || gained) this.#blame.succeeded();
    if (error !== undefined) await this.#blame.blame(links, error, gained);
  }

  #environment(mesh: SwarmMesh): RunEnvironment {
    const { castId, reader, options, onGroup } = this.parts;
    return {
      ...{ mesh, castId, serverName: hostname(), reader, options },
      ...{ bucket: this.#bucket, signal: this.#over.signal, costs: this.#costs },
      messageBytes: mesh.messageBytes,
      onChanged: (changed) => this.#withdraw(changed),
      onGroup,
    };
  }

  /** Notes what a fetcher got in a run. Returns whether that is anything. */
  #credit(link: FetcherLink, took: Took, messages: readonly (readonly number[])[]): boolean {
    const { messages: count, broken } = took;
    if (count > messages.length || broken.some((message) => message >= count)) {
      const claim = `${link.name} says that it got ${count} messages of a run of ${messages.length}`;
      this.#drop(link, protocolError(`${claim}; it was dropped`));
      return false;
    }
    const lost = new Set(broken);
    for (let number = 0; number < count; number += 1)
      if (!lost.has(number)) this.#plan!.took(link.id, messages[number]!);
    link.brokenMessages += lost.size;
    if (link.brokenMessages >= MAX_BROKEN_MESSAGES) {
      const message = `${link.name} got ${link.brokenMessages} messages that are not those of the server; another fetcher may alter what it forwards`;
      this.#drop(link, new CastError('ERR_RDMC_HASH_MISMATCH', message, { receiver: link.name }));
    }
    return count > lost.size;
  }

  /** Lets the fetchers go that lack nothing. */
  #settle(): void {
    for (const [id, served] of this.#served) if (this.#plan!.lacking(id) === 0) served.resolve();
  }

  #withdraw(changed: readonly ChangedFile[]): void {
    this.isStale = true;
    for (const { entry, message, first, pieces } of changed) {
      this.#plan!.withdraw(Array.from({ length: pieces }, (_, at) => first + at));
      const frame = { type: 'withdrawn', entries: [entry], code: 'ERR_RDMC_FILE_CHANGED', message } as const;
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
