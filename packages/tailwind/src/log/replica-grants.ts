import { setTimeout as delay } from 'node:timers/promises';
import { Deferred } from '@rdmc/common';
import { remoteKey } from '@rdmc/verbs';
import { BACKUP_RETRY_MS } from '../constants.js';
import { codeOf, messageOf, TailwindError } from '../errors.js';
import type { TargetSetup } from '../records.js';
import type { BackupConnection, OpenRequest } from '../rpc/backup-client.js';
import type { GrantPurpose, LogEnvironment } from './log-environment.js';

/** One replica of a segment, from the view of its primary. */
export interface Replica {
  readonly connection: BackupConnection;
  readonly setup: TargetSetup;
  readonly caughtUp: Deferred<void>;
  state: 'open' | 'closed' | 'lost';
}

type Wanted = Omit<OpenRequest, 'segmentBytes'>;

/** State of a search for a buffer, and its callbacks. */
export interface GrantWatch {
  /** Ids of the backups that have a replica of the segment, or are asked for one. */
  taken(): Iterable<number>;
  /** The backup will be asked: from now on it may have a buffer for the segment. */
  asked(member: number): void;
  /** The request failed. The backup may have granted a buffer all the same, if its answer was lost. */
  abandoned(member: number): void;
  /** False: the segment was freed, and the buffer is not needed any more. */
  isWanted(): boolean;
  /** Whether the backup, which was lost, has the closed replica that is looked for. It is asked for that before it grants a buffer. */
  hasClosed?(connection: BackupConnection): Promise<boolean>;
}

/** Finds buffers for replicas at backups. */
export class ReplicaGrants {
  constructor(private readonly environment: LogEnvironment) {}

  /**
   * A buffer at a backup without a replica of the segment that counts, or a closed replica that one has. Retries until one is granted,
   * or is not wanted any more (undefined). Several calls may run at once.
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
          return await this.#openAt(member, wanted, watch);
        } catch (error) {
          watch.abandoned(member);
          throwIfFenced(this.environment, error);
          reasons.push(`member ${member}: ${messageOf(error)}`);
        }
      }
      this.environment.refuse(purpose, tooFew(options.replicas, options.backups().length, reasons));
      await delay(BACKUP_RETRY_MS, undefined, { signal: ended });
    }
    return undefined;
  }

  async #openAt(member: number, wanted: Wanted, watch: GrantWatch): Promise<Replica> {
    const { connections, options, link } = this.environment;
    const connection = await connections.to(member);
    if (await watch.hasClosed?.(connection)) return closedReplica(connection, link.number());
    const request = { ...wanted, segmentBytes: options.segmentBytes };
    const { address, rkey, key } = await connection.open(request);
    const setup = { target: link.number(), pair: connection.pair, member, address, rkey, key };
    return { connection, setup, caughtUp: new Deferred(), state: 'open' };
  }
}

/** A replica that nothing is written to any more. */
function closedReplica(connection: BackupConnection, target: number): Replica {
  const { pair, member } = connection;
  const setup = { target, pair, member, address: 0, rkey: remoteKey(0), key: 0 };
  return { connection, setup, caughtUp: new Deferred(), state: 'closed' };
}

/** Ends the log when the error says that it was fenced. Throws in that case, and when the log has ended already. */
export function throwIfFenced({ ended, fail }: LogEnvironment, error: unknown): void {
  ended.throwIfAborted();
  if (codeOf(error) !== 'ERR_RDMC_LOG_FENCED') return;
  fail(error as Error);
  throw error;
}

function tooFew(replicas: number, backups: number, reasons: readonly string[]): TailwindError {
  const why = reasons.length > 0 ? reasons.join('; ') : 'no other backup is connected';
  return new TailwindError(
    'ERR_RDMC_TOO_FEW_BACKUPS',
    `${replicas} of ${backups} backups are needed, and fewer are available: ${why}`,
  );
}
