import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { Deferred, pause, settledWithin } from '@rdmc/common';
import {
  LAST_FRAME_TIMEOUT_MS,
  LOSS_GRACE_MS,
  MAX_BLAMES,
  MAX_BROKEN_MESSAGES,
  MAX_FAILED_RUNS,
  MAX_PULL_MESSAGE_BYTES,
  MIN_PULL_MESSAGE_BYTES,
} from '../constants.js';
import type { BlockSet } from '../delta/block-set.js';
import { AbortError, CastError, messageOf, protocolError, toCastError } from '../errors.js';
import { messageSize } from '../message-size.js';
import { StallWatch } from '../sender/stall-watch.js';
import { TokenBucket } from '../sender/token-bucket.js';
import { FetchReports } from './fetch-reports.js';
import type { FetcherLink, Took } from './fetcher-link.js';
import type { ServerFrameOf } from './frames.js';
import { sendOffer } from './offer.js';
import type { OriginFacts } from './origin.js';
import type { PullReaderThread } from './pull-reader-thread.js';
import type { ChangedFile } from './reader-orders.js';
import { Run, type RunEnvironment } from './run.js';
import type { ServeEvent } from './serve-events.js';
import type { CheckedServeOptions } from './serve-options.js';
import { SwarmMesh } from './swarm-mesh.js';
import { SwarmPlan } from './swarm-plan.js';

/** The fetchers of one name, which form one cast. */
export class Swarm {
  /** A file has changed since it was hashed: later fetchers begin another swarm. */
  isStale = false;
  readonly #castId = randomUUID();
  readonly #links: FetcherLink[] = [];
  readonly #over = new AbortController();
  readonly #facts: Promise<OriginFacts>;
  readonly #bucket: TokenBucket;
  readonly #watch: StallWatch<FetcherLink>;
  #plan: SwarmPlan | undefined;
  #costs: Float64Array = new Float64Array(0);
  #mesh: Promise<SwarmMesh> | undefined;
  #nextId = 1;
  #runs = 0;
  #run: Run | undefined;
  #isLooping = false;
  /** Resolves when no run is in progress. */
  #looping: Promise<void> = Promise.resolve();
  #failedRuns = 0;
  /** By id: resolves when the fetcher lacks nothing. */
  readonly #served = new Map<number, Deferred<void>>();
  readonly #withdrawn: ServerFrameOf<'withdrawn'>[] = [];
  /** Fetchers that have the whole offer: they are told of files that change. */
  readonly #offered = new Set<FetcherLink>();
  readonly #ended = new Deferred<boolean>();

  constructor(
    readonly name: string,
    /** The server's address as the fetchers of this swarm reach it. */
    private readonly localHost: string,
    private readonly reader: PullReaderThread,
    private readonly options: CheckedServeOptions,
    private readonly report: (event: ServeEvent) => void,
  ) {
    this.#facts = reader.survey({ directory: options.directory, name: Buffer.from(name) });
    // Each fetcher gets the error.
    this.#facts.catch(() => {});
    this.#bucket = new TokenBucket(options.bandwidthLimit);
    this.#watch = new StallWatch(
      options.stallTimeoutMs,
      this.#links,
      () => this.#run?.links ?? [],
      () => this.#run?.isSending === true,
      (link, error) => this.#drop(link, error),
    );
  }

  /** Serves one fetcher, until it has everything or is lost; errors become events. */
  async serve(link: FetcherLink): Promise<void> {
    const reports = new FetchReports(link, this.name, this.report);
    this.#links.push(link);
    try {
      const facts = await Promise.race([this.#facts, link.down]);
      if (facts) reports.surveyed(facts);
      const has = facts && (await this.#compare(link, facts));
      if (facts && has) {
        const { pieces } = facts;
        const lacking = pieces - has.count;
        const fetchers = this.#links.length;
        reports.began({ pieces, lacking, fetchers, encrypted: this.options.encrypt });
        if (lacking > 0) await this.#feed(link, facts, has);
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
    if (!isQuiet) await this.reader.end();
    const mesh = await this.#mesh?.catch(() => undefined);
    await mesh?.close();
    this.#ended.resolve(isQuiet);
  }

  /** Sends the offer, and returns what the fetcher has; undefined where it fails first. */
  async #compare(link: FetcherLink, facts: OriginFacts): Promise<BlockSet | undefined> {
    const have = link.have(facts.pieces);
    const { stallTimeoutMs } = this.options;
    await sendOffer(link, facts, { castId: this.#castId, stallTimeoutMs }, this.reader);
    for (const frame of this.#withdrawn) link.send(frame);
    this.#offered.add(link);
    return have;
  }

  /** Resolves when the fetcher lacks nothing, or has failed. */
  async #feed(link: FetcherLink, facts: OriginFacts, has: BlockSet): Promise<void> {
    const messageBytes = messageBytesFor(facts.bytes);
    this.#mesh ??= SwarmMesh.open(this.localHost, messageBytes, this.reader, this.options, this.#over.signal);
    const { contact, secret } = await this.#mesh;
    link.id = this.#nextId++;
    const { connectTimeoutMs } = this.options;
    const joined = link.joined();
    link.send({ type: 'mesh', id: link.id, contact, secret, messageBytes, connectTimeoutMs });
    if (!(await joined) || !link.alive) return;
    this.#plan ??= new SwarmPlan(facts.costs);
    this.#costs = facts.costs;
    const bytes = Uint8Array.from({ length: facts.pieces }, (_, piece) => (has.has(piece) ? 1 : 0));
    this.#plan.join(link.id, bytes);
    const served = new Deferred<void>();
    this.#served.set(link.id, served);
    if (this.#run && this.#plan.lacksAny(link.id, this.#run.filler.remaining)) this.#run.filler.stop();
    this.#settle();
    if (!this.#isLooping) this.#looping = this.#loop();
    await Promise.race([served.promise, link.down]);
  }

  async #leave(link: FetcherLink): Promise<void> {
    this.#links.splice(this.#links.indexOf(link), 1);
    this.#offered.delete(link);
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
    const { messages, bytes: sentBytes } = run.filler;
    let gained = false;
    for (const [link, its] of took) gained = this.#credit(link, its, messages) || gained;
    this.report({
      type: 'sent',
      name: this.name,
      fetchers: links.length,
      pieces: messages.reduce((sum, each) => sum + each.length, 0),
      bytes: sentBytes,
    });
    this.#settle();
    if (error === undefined || gained) this.#failedRuns = 0;
    if (error !== undefined) await this.#blame(links, error, gained);
  }

  #environment(mesh: SwarmMesh): RunEnvironment {
    return {
      ...{ mesh, castId: this.#castId, serverName: hostname(), reader: this.reader },
      ...{ options: this.options, bucket: this.#bucket, signal: this.#over.signal },
      messageBytes: mesh.messageBytes,
      onChanged: (changed) => this.#withdraw(changed),
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

  /** Waits a moment for the connections of the failed members to end; drops a member that has failed twice without that. */
  async #blame(links: readonly FetcherLink[], error: unknown, gained: boolean): Promise<void> {
    const { memberId, missing = [] } = error as { memberId?: number; missing?: readonly number[] };
    this.options.logger?.warn?.(
      { name: this.name, reason: messageOf(error) },
      'a group failed; its survivors continue',
    );
    const failed = links.filter(({ id, alive }) => alive && (id === memberId || missing.includes(id)));
    await Promise.all(failed.map((link) => settledWithin(link.down, LOSS_GRACE_MS)));
    for (const link of failed) link.blames += 1;
    for (const link of failed) {
      if (!link.alive || link.blames < MAX_BLAMES) continue;
      const message = `${link.name} failed in the group of the other fetchers: ${messageOf(error)}`;
      this.#drop(
        link,
        new CastError('ERR_RDMC_RECEIVER_LOST', message, { cause: error, receiver: link.name }),
      );
    }
    const isExplained = gained || failed.length > 0 || links.some(({ alive }) => !alive);
    if (!isExplained) this.#failedRuns += 1;
    if (this.#failedRuns < MAX_FAILED_RUNS) return;
    this.#failedRuns = 0;
    const failure = toCastError(error, 'ERR_RDMC_CAST_PROTOCOL');
    for (const link of links) this.#drop(link, failure);
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
    this.options.logger?.warn?.({ fetcher: link.name, code: error.code }, error.message);
  }
}

/** Multiples of the step of messages, so that the region of one is as long. */
function messageBytesFor(bytes: number): number {
  return Math.max(MIN_PULL_MESSAGE_BYTES, messageSize(bytes, MAX_PULL_MESSAGE_BYTES));
}
