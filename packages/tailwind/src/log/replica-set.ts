import { setTimeout as delay } from 'node:timers/promises';
import { BACKUP_RETRY_MS } from '../constants.js';
import { Deferred } from '../deferred.js';
import { codeOf, messageOf, TailwindError } from '../errors.js';
import type { SegmentIdentity } from '../format/layout.js';
import type { Certificate } from '../format/scan.js';
import type { TargetSetup } from '../records.js';
import type { BackupConnection, OpenRequest } from '../rpc/backup-client.js';
import type { GrantPurpose, LogEnvironment } from './log-environment.js';

/** One replica of a segment, as its primary sees it. */
interface Replica {
  readonly connection: BackupConnection;
  readonly setup: TargetSetup;
  readonly caughtUp: Deferred<void>;
  state: 'open' | 'closed' | 'lost';
}

/** What the replicas need to know of their segment. */
export interface ReplicatedSegment {
  readonly identity: SegmentIdentity;
  /** The segment's memory here. */
  readonly memory: { readonly address: number; readonly lkey: number };
  /** What was handed to the worker so far. */
  readonly posted: Certificate;
}

/**
 * The r replicas of one segment: opens them, closes them, and replaces those that are lost (rules of RAMCloud's
 * replica manager, with epochs; see the README's failure table).
 */
export class ReplicaSet {
  readonly #channel: number;
  #replicas: Replica[] = [];
  #epoch = 1;
  /** Replacements run one after the other; appends are acknowledged again when none is left. */
  #replacing: Promise<void> = Promise.resolve();
  #waiting = 0;
  #isOpen = false;
  /** The coordinator may learn of this segment's epochs: its predecessor is closed. */
  #isHead = false;
  #owesMinimum = false;

  constructor(
    private readonly environment: LogEnvironment,
    private readonly segment: ReplicatedSegment,
    private readonly onAcknowledged: (sequence: number) => void,
  ) {
    this.#channel = environment.link.number();
  }

  get channel(): number {
    return this.#channel;
  }

  /** Ids of the backups that have, or are about to have, a replica. */
  get members(): number[] {
    return this.#replicas.filter(({ state }) => state !== 'lost').map(({ connection }) => connection.member);
  }

  /** Grants r buffers; appends may be posted when it resolves. Waits while backups are too few. */
  async open(): Promise<void> {
    const { options, link } = this.environment;
    while (this.#replicas.length < options.replicas) {
      const replica = await this.#grant('open');
      this.#replicas.push(replica);
    }
    this.#isOpen = true;
    await link.openChannel(
      {
        channel: this.#channel,
        ...this.segment.memory,
        targets: this.#replicas.map(({ setup }) => setup),
      },
      {
        acknowledged: this.onAcknowledged,
        lost: (target, reason) => this.#lost(target, reason),
        caughtUp: (target) => this.#find(target)?.caughtUp.resolve(),
      },
    );
  }

  /**
   * The predecessor is durably closed; resolves when appends may be acknowledged. Replacements before this moment
   * could not raise the coordinator's minimum, which would have declared the predecessor's open replicas stale.
   */
  becomeHead(): Promise<void> {
    return this.#inTurn(async () => {
      this.#isHead = true;
      if (this.#owesMinimum) await this.#raiseMinimum();
      this.#owesMinimum = false;
    });
  }

  /** All replicas have everything: closes them, and those that take the place of any that is lost meanwhile. */
  async close(certificate: Certificate): Promise<void> {
    while (this.#replicas.some(({ state }) => state !== 'closed')) {
      await this.#replacing;
      this.environment.ended.throwIfAborted();
      await Promise.all(this.#replicas.map((replica) => this.#close(replica, certificate)));
    }
    await this.environment.link.endChannel(this.#channel);
  }

  /** Resolves when every backup has its closed replica in a file. */
  async flushed(certificate: Certificate): Promise<void> {
    for (let index = 0; index < this.#replicas.length; index += 1) {
      while (!(await this.#isFlushed(index, certificate))) this.environment.ended.throwIfAborted();
    }
  }

  /** A member is gone. Replaces its closed replica; open ones the worker reports as lost. */
  memberLost(member: number, certificate: Certificate | undefined): void {
    for (const replica of this.#replicas.filter(({ connection }) => connection.member === member)) {
      this.environment.connections.suspect(replica.connection);
      if (replica.state === 'open') this.#lost(replica.setup.target, 'its backup is gone');
      else if (certificate) void this.#replaceClosed(replica, certificate);
    }
  }

  async #close(replica: Replica, certificate: Certificate): Promise<void> {
    if (replica.state !== 'open') return;
    try {
      await replica.connection.close(this.segment.identity, certificate);
      if ((replica.state as string) === 'open') replica.state = 'closed';
    } catch (error) {
      this.#failed(replica, error);
    }
  }

  async #isFlushed(index: number, certificate: Certificate): Promise<boolean> {
    const replica = this.#replicas[index]!;
    try {
      await replica.connection.flushed(this.segment.identity);
      return this.#replicas[index] === replica && replica.state === 'closed';
    } catch (error) {
      this.environment.ended.throwIfAborted();
      // A disk may be slow; only a backup that is gone, or has lost it, is replaced.
      if (codeOf(error) === 'ERR_RDMC_MESH_REQUEST_TIMEOUT') return false;
      await this.#replaceClosed(replica, certificate);
      return false;
    }
  }

  #lost(target: number, reason: string): void {
    const replica = this.#find(target);
    if (!replica || replica.state === 'lost') return;
    const { options } = this.environment;
    const { segmentId } = this.segment.identity;
    options.logger?.warn?.(
      { segmentId: String(segmentId), backup: replica.connection.member, reason },
      'a replica is lost',
    );
    replica.state = 'lost';
    replica.caughtUp.reject(new Error(reason));
    this.environment.connections.suspect(replica.connection);
    if (!this.#isOpen) {
      // Nothing was written yet: `open` finds another backup.
      this.#replicas = this.#replicas.filter((other) => other !== replica);
      return;
    }
    this.#waiting += 1;
    void this.#inTurn(() => this.#replace(replica)).finally(() => {
      this.#waiting -= 1;
    });
  }

  #inTurn(action: () => Promise<void>): Promise<void> {
    this.#replacing = this.#replacing.then(action).catch((error: unknown) => this.#end(error));
    return this.#replacing;
  }

  /** The order matters: replacement, its commit, the survivors' epoch, the coordinator's minimum, acknowledgements. */
  async #replace(lost: Replica): Promise<void> {
    const { link } = this.environment;
    this.#epoch += 1;
    const index = this.#replicas.indexOf(lost);
    for (let target = lost.setup.target; ; ) {
      const replacement = await this.#grant('replace');
      this.#replicas[index] = replacement;
      const certificate = this.segment.posted;
      link.replace({ channel: this.#channel, lost: target, target: replacement.setup });
      target = replacement.setup.target;
      if (await this.#catchUp(replacement, certificate)) break;
    }
    await Promise.all(this.#replicas.map((replica) => this.#tellEpoch(replica)));
    if (this.#isHead) await this.#raiseMinimum();
    else this.#owesMinimum = true;
    if (this.#waiting === 1) link.resume(this.#channel);
    this.#freeStale(lost);
  }

  /** What a lost replica's backup still has is stale from now on. If it lives, it can use the buffer for others. */
  #freeStale({ connection }: Replica): void {
    const { mesh } = this.environment.options;
    if (mesh.peers.get(connection.member)?.state !== 'connected') return;
    if (!this.members.includes(connection.member)) connection.free(this.segment.identity).catch(() => {});
  }

  /** Asks until there is an answer: without one nothing may be acknowledged. */
  async #raiseMinimum(): Promise<void> {
    const { options, ended } = this.environment;
    const { identity } = this.segment;
    const minimum = { segmentId: identity.segmentId, epoch: this.#epoch };
    for (;;) {
      try {
        await options.authority.raiseMinimum(identity, minimum);
        return;
      } catch (error) {
        this.#throwIfFenced(error);
        options.logger?.warn?.({ reason: messageOf(error) }, 'the coordinator does not answer');
        await delay(BACKUP_RETRY_MS, undefined, { signal: ended });
      }
    }
  }

  /** False when the replacement is lost as well. */
  async #catchUp(replacement: Replica, certificate: Certificate): Promise<boolean> {
    try {
      await replacement.caughtUp.promise;
      await replacement.connection.commit(this.segment.identity, this.#epoch, certificate);
      return true;
    } catch (error) {
      this.#throwIfFenced(error);
      replacement.state = 'lost';
      this.environment.connections.suspect(replacement.connection);
      return false;
    }
  }

  async #tellEpoch(replica: Replica): Promise<void> {
    if (replica.state !== 'open') return;
    try {
      await replica.connection.setEpoch(this.segment.identity, this.#epoch);
    } catch (error) {
      this.#failed(replica, error);
    }
  }

  /** A closed replica needs no epoch: its certificate says that it is complete. Once for each, in turn. */
  #replaceClosed(lost: Replica, certificate: Certificate): Promise<void> {
    lost.state = 'lost';
    return this.#inTurn(async () => {
      const index = this.#replicas.indexOf(lost);
      if (index < 0) return;
      while (!(await this.#copyClosed(index, certificate))) this.environment.ended.throwIfAborted();
    });
  }

  async #copyClosed(index: number, certificate: Certificate): Promise<boolean> {
    const { link, connections } = this.environment;
    const { identity } = this.segment;
    const replacement = await this.#grant('restore');
    const channel = link.number();
    try {
      await this.#copy(channel, replacement, certificate);
      await replacement.connection.commit(identity, this.#epoch, certificate);
      await replacement.connection.close(identity, certificate);
      replacement.state = 'closed';
      this.#replicas[index] = replacement;
      return true;
    } catch (error) {
      this.#throwIfFenced(error);
      connections.suspect(replacement.connection);
      return false;
    } finally {
      await link.endChannel(channel);
    }
  }

  async #copy(channel: number, { setup }: Replica, { lengthBytes }: Certificate): Promise<void> {
    const { link } = this.environment;
    if (lengthBytes === 0) return;
    const copied = new Deferred<void>();
    await link.openChannel(
      { channel, ...this.segment.memory, targets: [setup] },
      {
        acknowledged: () => copied.resolve(),
        lost: (_, reason) => copied.reject(new Error(reason)),
        caughtUp: () => {},
      },
    );
    link.append(channel, 1, 0, lengthBytes);
    await copied.promise;
  }

  /** A buffer at some backup that has no replica of this segment yet; tries until there is one. */
  async #grant(purpose: GrantPurpose): Promise<Replica> {
    const { connections, options, ended } = this.environment;
    for (;;) {
      const tried = new Set(this.members);
      const reasons: string[] = [];
      for (let member = connections.pick(tried); member !== undefined; member = connections.pick(tried)) {
        ended.throwIfAborted();
        tried.add(member);
        try {
          const replica = await this.#openAt(member, purpose === 'open');
          this.environment.refuse(purpose, undefined);
          return replica;
        } catch (error) {
          this.#throwIfFenced(error);
          reasons.push(`member ${member}: ${messageOf(error)}`);
        }
      }
      this.environment.refuse(purpose, tooFew(options.replicas, options.backups.length, reasons));
      await delay(BACKUP_RETRY_MS, undefined, { signal: ended });
    }
  }

  async #openAt(member: number, committed: boolean): Promise<Replica> {
    const { connections, options, link } = this.environment;
    const connection = await connections.to(member);
    const { segmentBytes } = options;
    const request = { ...this.segment.identity, epoch: this.#epoch, segmentBytes, committed };
    const { address, rkey, key } = await openAgain(connection, request);
    const setup = { target: link.number(), pair: connection.pair, address, rkey, key };
    return { connection, setup, caughtUp: new Deferred(), state: 'open' };
  }

  #failed(replica: Replica, error: unknown): void {
    this.#throwIfFenced(error);
    this.#lost(replica.setup.target, messageOf(error));
  }

  #throwIfFenced(error: unknown): void {
    this.environment.ended.throwIfAborted();
    if (codeOf(error) !== 'ERR_RDMC_LOG_FENCED') return;
    this.#end(error);
    throw error;
  }

  #end(error: unknown): void {
    this.environment.fail(error instanceof Error ? error : new Error(String(error)));
  }

  #find(target: number): Replica | undefined {
    return this.#replicas.find(({ setup }) => setup.target === target);
  }
}

/** A replica that is there already is one that this log gave up: it makes room for its successor. */
async function openAgain(
  connection: BackupConnection,
  request: OpenRequest,
): ReturnType<BackupConnection['open']> {
  try {
    return await connection.open(request);
  } catch (error) {
    if (codeOf(error) !== 'ERR_RDMC_REPLICA_EXISTS') throw error;
    await connection.free(request);
    return connection.open(request);
  }
}

function tooFew(replicas: number, backups: number, reasons: readonly string[]): TailwindError {
  const why = reasons.length > 0 ? reasons.join('; ') : 'no other one is there';
  return new TailwindError(
    'ERR_RDMC_TOO_FEW_BACKUPS',
    `${replicas} backups are needed, of ${backups}, and there are fewer: ${why}`,
  );
}
