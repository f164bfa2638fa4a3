import { hostname } from 'node:os';
import { Deferred, pause } from '@rdmc/common';
import { MAX_BROKEN_MESSAGES } from '../constants.js';
import type { BlockSet } from '../delta/block-set.js';
import { CastError, protocolError, toCastError } from '../errors.js';
import { TokenBucket } from '../sender/token-bucket.js';
import type { FetcherLink, Took } from './fetcher-link.js';
import type { Leaders } from './leaders.js';
import { LedRun } from './led-run.js';
import type { ChangedFile } from './reader-orders.js';
import { Run, type RunEnvironment } from './run.js';
import { RunBlame } from './run-blame.js';
import type { SwarmMesh } from './swarm-mesh.js';
import type { SwarmParts } from './swarm-parts.js';
import { SwarmPlan } from './swarm-plan.js';

export interface SwarmRunsParts {
  readonly swarm: SwarmParts;
  /** Bytes of each piece. */
  readonly costs: Float64Array;
  readonly mesh: Promise<SwarmMesh>;
  readonly leaders: Leaders;
  /** The fetchers of the swarm. */
  readonly links: readonly FetcherLink[];
  readonly signal: AbortSignal;
  readonly drop: (link: FetcherLink, error: CastError) => void;
  readonly onChanged: (changed: readonly ChangedFile[]) => void;
}

/** The runs of a swarm: one after the other, as long as a fetcher lacks something. */
export class SwarmRuns {
  /** A byte for each piece, not 0 where the server has sent it to a fetcher. */
  readonly sent: Uint8Array;
  /** Resolves when no run is in progress. */
  looping: Promise<void> = Promise.resolve();
  readonly #plan: SwarmPlan;
  readonly #bucket: TokenBucket;
  readonly #blame: RunBlame;
  #count = 0;
  #run: Run | undefined;
  #led: LedRun | undefined;
  /** Bytes of contents in the runs of the server that have ended. */
  #sentBytes = 0;
  #isLooping = false;
  /** By id: resolves when the fetcher lacks nothing. */
  readonly #served = new Map<number, Deferred<void>>();

  constructor(private readonly parts: SwarmRunsParts) {
    const { costs, swarm, drop } = parts;
    const { name, options } = swarm;
    this.#plan = new SwarmPlan(costs);
    this.sent = new Uint8Array(costs.length);
    this.#bucket = new TokenBucket(options.bandwidthLimit);
    this.#blame = new RunBlame(name, options.logger, drop);
  }

  /** Bytes of contents that the server has handed to groups. */
  get sentBytes(): number {
    return this.#sentBytes + (this.#run?.filler.contentBytes ?? 0);
  }

  /** Members of the run of the server. */
  get receiving(): readonly FetcherLink[] {
    return this.#run?.links ?? [];
  }

  /** Whether the server is sending a message. */
  get isSending(): boolean {
    return this.#run?.isSending === true;
  }

  /** A fetcher has joined the mesh. Resolves when it lacks nothing. */
  join(id: number, has: BlockSet): Promise<void> {
    const bytes = Uint8Array.from({ length: has.blocks }, (_, piece) => (has.has(piece) ? 1 : 0));
    this.#plan.join(id, bytes);
    const served = new Deferred<void>();
    this.#served.set(id, served);
    return served.promise;
  }

  /** That fetcher takes part from now on: a run without it ends at the next boundary. */
  begin(id: number): void {
    if (this.#run && this.#plan.lacksAny(id, this.#run.filler.remaining)) this.#run.filler.stop();
    this.#led?.stop();
    this.#settle();
    if (!this.#isLooping) this.looping = this.#loop();
  }

  leave(id: number): void {
    this.#plan.leave(id);
    this.#served.delete(id);
  }

  /** Pieces that are not sent any more. */
  withdraw({ first, pieces }: ChangedFile): void {
    this.#plan.withdraw(Array.from({ length: pieces }, (_, at) => first + at));
  }

  /** Sends one run after the other, as long as a fetcher lacks something. */
  async #loop(): Promise<void> {
    this.#isLooping = true;
    try {
      const mesh = await this.parts.mesh;
      for (let next = this.#plan.next(); next && !this.parts.signal.aborted; next = this.#plan.next()) {
        const ids = new Set(next.members);
        const links = this.parts.links.filter(({ id, alive }) => alive && ids.has(id));
        // A fetcher that has failed leaves the plan a moment later.
        const leader = this.parts.leaders.next();
        if (links.length < ids.size) await pause(1);
        else if (leader) await this.#lead(leader, links, next.pieces, mesh);
        else await this.#send(links, next.pieces, mesh);
      }
    } catch (error) {
      const failure = toCastError(error, 'ERR_RDMC_CAST_PROTOCOL');
      for (const link of [...this.parts.links]) this.parts.drop(link, failure);
    } finally {
      this.#isLooping = false;
    }
  }

  async #send(
    links: readonly FetcherLink[],
    pieces: Uint32Array<ArrayBuffer>,
    mesh: SwarmMesh,
  ): Promise<void> {
    const run = new Run(++this.#count, links, pieces, this.#environment(mesh));
    this.#run = run;
    const { error, took } = await run.run(this.#bytesOf(pieces));
    this.#run = undefined;
    const { messages, bytes: sentBytes, contentBytes } = run.filler;
    this.#sentBytes += contentBytes;
    for (const message of messages) for (const piece of message) this.sent[piece] = 1;
    let gained = false;
    for (const [link, its] of took) gained = this.#credit(link, its, messages) || gained;
    const { name, report } = this.parts.swarm;
    report({
      type: 'sent',
      name,
      fetchers: links.length,
      pieces: messages.reduce((sum, each) => sum + each.length, 0),
      bytes: sentBytes,
    });
    this.#settle();
    if (error === undefined || gained) this.#blame.succeeded();
    if (error !== undefined) await this.#blame.blame(links, error, gained);
  }

  /** A fetcher that has everything sends, in the place of the server. */
  async #lead(
    leader: FetcherLink,
    links: readonly FetcherLink[],
    pieces: Uint32Array<ArrayBuffer>,
    mesh: SwarmMesh,
  ): Promise<void> {
    const { name, report } = this.parts.swarm;
    this.#led = new LedRun(++this.#count, leader, links, pieces, this.#environment(mesh));
    const took = await this.#led.run(this.#bytesOf(pieces));
    this.#led = undefined;
    const got = this.parts.leaders.judge(leader, pieces, took, this.#plan);
    const sent = { pieces: got.length, bytes: this.#bytesOf(got) };
    report({ type: 'sent', name, fetchers: links.length, ...sent, leader: leader.name });
    this.#settle();
  }

  #bytesOf(pieces: Uint32Array): number {
    return pieces.reduce((sum, piece) => sum + this.parts.costs[piece]!, 0);
  }

  #environment(mesh: SwarmMesh): RunEnvironment {
    const { swarm, signal, costs, onChanged } = this.parts;
    const { castId, reader, options, onGroup } = swarm;
    return {
      ...{ mesh, castId, serverName: hostname(), reader, options },
      ...{ bucket: this.#bucket, signal, costs, onChanged, onGroup },
      messageBytes: mesh.messageBytes,
    };
  }

  /** Notes what a fetcher got in a run. Returns whether that is anything. */
  #credit(link: FetcherLink, took: Took, messages: readonly (readonly number[])[]): boolean {
    const { messages: count, broken } = took;
    if (count > messages.length || broken.some((message) => message >= count)) {
      const claim = `${link.name} says that it got ${count} messages of a run of ${messages.length}`;
      this.parts.drop(link, protocolError(`${claim}; it was dropped`));
      return false;
    }
    const lost = new Set(broken);
    for (let number = 0; number < count; number += 1)
      if (!lost.has(number)) this.#plan.took(link.id, messages[number]!);
    link.brokenMessages += lost.size;
    if (link.brokenMessages >= MAX_BROKEN_MESSAGES) {
      const message = `${link.name} got ${link.brokenMessages} messages that are not those of the server; another fetcher may alter what it forwards`;
      this.parts.drop(link, new CastError('ERR_RDMC_HASH_MISMATCH', message, { receiver: link.name }));
    }
    return count > lost.size;
  }

  /** Lets the fetchers go that lack nothing. */
  #settle(): void {
    for (const [id, served] of this.#served) if (this.#plan.lacking(id) === 0) served.resolve();
  }
}
