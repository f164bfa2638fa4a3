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

/** Finds buffers for replicas at backups. */
export class ReplicaGrants {
  constructor(private readonly environment: LogEnvironment) {}

  /**
   * A buffer at some backup that has no replica of the segment yet; tries until there is one.
   * @param taken ids of the backups that have one
   * @param onAbandoned hears of backups where a buffer may have been granted without this side knowing
   * @throws the reason for which the log ended meanwhile
   */
  async grant(
    purpose: GrantPurpose,
    wanted: Wanted,
    taken: () => readonly number[],
    onAbandoned: (member: number) => void,
  ): Promise<Replica> {
    const { connections, options, ended } = this.environment;
    for (;;) {
      const tried = new Set(taken());
      const reasons: string[] = [];
      for (let member = connections.pick(tried); member !== undefined; member = connections.pick(tried)) {
        ended.throwIfAborted();
        tried.add(member);
        try {
          const replica = await this.#openAt(member, wanted);
          this.environment.refuse(purpose, undefined);
          return replica;
        } catch (error) {
          throwIfFenced(this.environment, error);
          onAbandoned(member);
          reasons.push(`member ${member}: ${messageOf(error)}`);
        }
      }
      this.environment.refuse(purpose, tooFew(options.replicas, options.backups.length, reasons));
      await delay(BACKUP_RETRY_MS, undefined, { signal: ended });
    }
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
