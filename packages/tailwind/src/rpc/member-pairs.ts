import type { QueuePairAddress } from '@rdmc/verbs';
import { DEFAULT_RETRY_TIMEOUT_MS, MAX_CONNECTIONS_PER_MEMBER } from '../constants.js';
import { TailwindError } from '../errors.js';
import type { ReplicationMode } from '../records.js';
import type { WorkerLink } from '../worker-link.js';

interface MemberPair {
  readonly pair: number;
  readonly member: number;
  readonly logId: bigint;
}

/** The queue pairs for members' writes to a backup; in the RPC scheme also the keys of the replicas' buffers. */
export class MemberPairs {
  readonly #pairs = new Map<number, MemberPair>();
  /** Keys of the buffers, by replica. */
  readonly #keys = new Map<string, number>();

  constructor(private readonly link: WorkerLink) {}

  /** @throws TailwindError ERR_RDMC_BACKUP_FULL; VerbsError */
  async create(member: number, logId: bigint, mode: ReplicationMode, address: QueuePairAddress) {
    const theirs = this.#all((pair) => pair.member === member);
    if (theirs.length >= MAX_CONNECTIONS_PER_MEMBER) {
      throw new TailwindError(
        'ERR_RDMC_BACKUP_FULL',
        `Member ${member} has ${theirs.length} queue pairs to this backup, which is the limit; close one first`,
      );
    }
    const pair = this.link.number();
    this.#pairs.set(pair, { pair, member, logId });
    try {
      const own = await this.link.commands.createPair({ pair, side: 'backup', mode });
      // The other side connects at the same time, so the answer does not wait. If connecting fails, so does the first
      // write.
      this.link.commands
        .connect({ pair, address, retryTimeoutMs: DEFAULT_RETRY_TIMEOUT_MS })
        .catch(() => this.drop(pair));
      return { pair, address: own };
    } catch (error) {
      this.#pairs.delete(pair);
      throw error;
    }
  }

  isOf(member: number, pair: number): boolean {
    return this.#pairs.get(pair)?.member === member;
  }

  /** A data plane that has ended has ended its queue pairs, too. */
  async drop(pair: number): Promise<void> {
    this.#pairs.delete(pair);
    await this.link.commands.drop(pair).catch(() => {});
  }

  async dropLog(logId: bigint): Promise<void> {
    await Promise.all(this.#all((pair) => pair.logId === logId).map(({ pair }) => this.drop(pair)));
  }

  async dropMember(member: number): Promise<void> {
    await Promise.all(this.#all((pair) => pair.member === member).map(({ pair }) => this.drop(pair)));
  }

  /**
   * Lets messages on a pair write a replica's buffer. Resolves with the key that names the buffer in these messages.
   */
  async admit(pair: number, replica: string, address: number, byteLength: number): Promise<number> {
    const key = this.link.number();
    await this.evict(replica);
    this.#keys.set(replica, key);
    await this.link.commands.admit(pair, key, address, byteLength);
    return key;
  }

  async evict(replica: string): Promise<void> {
    const key = this.#keys.get(replica);
    this.#keys.delete(replica);
    // A data plane that has ended does not copy any more.
    if (key !== undefined) await this.link.commands.evict(key).catch(() => {});
  }

  #all(isMeant: (pair: MemberPair) => boolean): MemberPair[] {
    return [...this.#pairs.values()].filter(isMeant);
  }
}
