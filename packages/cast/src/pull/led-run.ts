import { HEARTBEAT_MS } from '../constants.js';
import { BlockSet } from '../delta/block-set.js';
import { CastError } from '../errors.js';
import { newSecret } from '../seal/run-key.js';
import type { FetcherLink } from './fetcher-link.js';
import { PULL_ALGORITHM } from './group-sender.js';
import { setFrames } from './have-frames.js';
import { blockSizeOf, type RunEnvironment } from './run.js';

/** What a member has after a run that a fetcher led. */
export interface LedTook {
  readonly has: BlockSet;
  /** Messages that were not those of the server. */
  readonly broken: number;
}

/** One group whose root is a fetcher that has everything: the server tells it what to send, and is not in the group. */
export class LedRun {
  constructor(
    private readonly number: number,
    readonly leader: FetcherLink,
    private readonly links: readonly FetcherLink[],
    readonly pieces: Uint32Array<ArrayBuffer>,
    private readonly environment: RunEnvironment,
  ) {}

  /** It ends at the next boundary of messages. */
  stop(): void {
    this.leader.send({ type: 'stop', run: this.number });
  }

  /**
   * Resolves when every member that is left has said what it has, whatever the leader did.
   * @param bytes sum of the pieces
   */
  async run(bytes: number): Promise<ReadonlyMap<FetcherLink, LedTook>> {
    const { leader, links, environment } = this;
    const { costs, options } = environment;
    const answers = links.map(async (link) => ({ link, its: await this.#answer(link, costs.length) }));
    const secret = options.encrypt ? newSecret() : undefined;
    const facts = {
      run: this.number,
      algorithm: PULL_ALGORITHM,
      members: [leader.id, ...links.map(({ id }) => id)],
      blockBytes: blockSizeOf(environment, bytes, links.length),
      ...(secret && { secret: secret.toString('hex') }),
    } as const;
    const set = new BlockSet(costs.length);
    for (const piece of this.pieces) set.add(piece);
    for (const frame of setFrames(set)) leader.send({ type: 'pieces', ...frame });
    for (const link of links) link.send({ type: 'run', ...facts, led: true });
    leader.send({ type: 'lead', ...facts });
    const part = (): void => {
      for (const link of links) link.send({ type: 'part', run: this.number });
    };
    const watch = this.#watch();
    void leader.led(this.number).then((isWhole) => (isWhole ? undefined : part()));
    try {
      const took = new Map<FetcherLink, LedTook>();
      for (const { link, its } of await Promise.all(answers)) if (its) took.set(link, its);
      return took;
    } finally {
      clearInterval(watch);
    }
  }

  async #answer(link: FetcherLink, pieces: number): Promise<LedTook | undefined> {
    const has = link.have(pieces);
    const took = await link.took(this.number);
    const set = took && (await has);
    return set && { has: set, broken: took.broken.length };
  }

  /** Lets the leader go when no member makes progress. Time is counted in ticks, as in `StallWatch`. */
  #watch(): NodeJS.Timeout {
    const { stallTimeoutMs } = this.environment.options;
    let last = -1;
    let standstillMs = 0;
    return setInterval(() => {
      let progress = 0;
      for (const { progress: its } of this.links)
        progress += its.receivedMessages + its.partialBytes + its.storedMessages;
      standstillMs = progress === last ? standstillMs + HEARTBEAT_MS : 0;
      last = progress;
      if (standstillMs < stallTimeoutMs) return;
      standstillMs = 0;
      const message = `${this.leader.name} has sent nothing for ${stallTimeoutMs} ms to the fetchers that it serves`;
      this.leader.release(new CastError('ERR_RDMC_RECEIVER_STALLED', message));
    }, HEARTBEAT_MS);
  }
}
