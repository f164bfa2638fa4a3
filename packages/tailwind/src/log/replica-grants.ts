import { setTimeout as delay } from 'node:timers/promises';
import { Deferred } from '@rdmc/common';
import { BACKUP_RETRY_MS } from '../constants.js';
import { codeOf, messageOf, TailwindError } from '../errors.js';
import type { TargetSetup } from '../records.js';
import type { BackupConnection, OpenRequest } from '../rpc/backup-client.js';
import type { GrantPurpose, LogEnvironment } from './log-environment.js';

/** One replica of a segment, as its primary sees it. */
export interface Replica {
  readonly connection: BackupConnection;
  readonly setup: TargetSetup;
  readonly caughtUp: Deferred<void>;
  state: 'open' | 'closed' | 'lost';
}

type Wanted = Omit<OpenRequest, 'segmentBytes'>;

/** What a search for a buffer depends on, and tells. */
export interface GrantWatch {
  /** Ids of the backups that have a replica of the segment, or are asked for one. */
  taken(): Iterable<number>;
  /** A backup is asked: it may have a buffer for the segment from now on. */
  asked(member: number): void;
  /** Nothing comes of it; a buffer may have been granted without this side knowing. */
  abandoned(member: number): void;
  /** False: the segment is gone, nobody waits for the buffer. */
  isWanted(): boolean;
}

/** Finds buffers for replicas at backups. */
export class ReplicaGrants {
  constructor(private readonly environment: LogEnvironment) {}

  /**
   * A buffer at some backup that has no replica of the segment yet; tries until there is one, or nobody wants it
   * (undefined). Several may run at once.
   * @throws the reason for which the log ended meanwhile
   */
  async grant(purpose: GrantPurpose, wanted: Wanted, watch: GrantWatch): Promise<Replica | undefined> {
    const { connections, options, ended } = this.environment;
    while (watch.isWanted()) {
      const tried = new Set<number>();
      const reasons: string[] = [];
      const pick = (): number | undefined => connections.pick(new Set([...tried, ...watch.taken()]));
      for (let member = pick(); member !== undefined; member = pick()) {
        ended.throwIfAborted();
        tried.add(member);
        watch.asked(member);
        try {
          return await this.#openAt(member, wanted);
        } catch (error) {
          watch.abandoned(member);
          throwIfFenced(this.environment, error);
          reasons.push(`member ${member}: ${messageOf(error)}`);
        }
      }
      this.environment.refuse(purpose, tooFew(options.replicas, options.backups.length, reasons));
      await delay(BACKUP_RETRY_MS, undefined, { signal: ended });
    }
    return undefined;
  }

  async #openAt(member: number, wanted: Wanted): Promise<Replica> {
    const { connections, options, link } = this.environment;
    const connection = await connections.to(member);
    const request = { ...wanted, segmentBytes: options.segmentBytes };
    const { address, rkey, key } = await connection.open(request);
    const setup = { target: link.number(), pair: connection.pair, address, rkey, key };
    return { connection, setup, caughtUp: new Deferred(), state: 'open' };
  }
}

/** Ends the log when the error says that it was fenced; throws then, and when it has ended already. */
export function throwIfFenced({ ended, fail }: LogEnvironment, error: unknown): void {
  ended.throwIfAborted();
  if (codeOf(error) !== 'ERR_RDMC_LOG_FENCED') return;
  fail(error as Error);
  throw error;
}

function tooFew(replicas: number, backups: number, reasons: readonly string[]): TailwindError {
  const why = reasons.length > 0 ? reasons.join('; ') : 'no other one is there';
  return new TailwindError(
    'ERR_RDMC_TOO_FEW_BACKUPS',
    `${replicas} backups are needed, of ${backups}, and there are fewer: ${why}`,
  );
}
