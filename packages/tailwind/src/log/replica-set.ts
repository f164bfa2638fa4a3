import { SerialQueue, within } from '@rdmc/common';
import { codeOf, messageOf } from '../errors.js';
import type { Certificate } from '../format/scan.js';
import type { BackupConnection } from '../rpc/backup-client.js';
import { copyClosed } from './closed-copy.js';
import type { GrantPurpose, LogEnvironment } from './log-environment.js';
import { OpenMoves } from './open-moves.js';
import { type GrantWatch, type Replica, ReplicaGrants, throwIfFenced } from './replica-grants.js';
import type { ReplicatedSegment } from './replicated-segment.js';
import { SegmentEpoch } from './segment-epoch.js';
import { tracedSegment } from './traced-segment.js';
import { UncountedReplicas } from './uncounted-replicas.js';

/**
 * The r replicas of one segment: opens them, closes them, and replaces those that are lost (rules of RAMCloud's
 * replica manager, with epochs; see the README's failure table).
 */
export class ReplicaSet {
  readonly #channel: number;
  readonly #grants: ReplicaGrants;
  #replicas: Replica[] = [];
  readonly #epoch: SegmentEpoch;
  /** Replacements run one after the other; appends are acknowledged again when all are done. */
  readonly #replacing = new SerialQueue();
  #waiting = 0;
  #isOpen = false;
  #isFreed = false;
  readonly #uncounted: UncountedReplicas;
  readonly #moves: OpenMoves;
  readonly #closing = new AbortController();

  constructor(
    private readonly environment: LogEnvironment,
    private readonly segment: ReplicatedSegment,
    private readonly onAcknowledged: (sequence: number) => void,
  ) {
    this.#channel = environment.link.number();
    this.#grants = new ReplicaGrants(environment);
    this.#epoch = new SegmentEpoch(environment, segment.identity);
    this.#uncounted = new UncountedReplicas(environment, segment.identity, () => {
      const { leaving } = this.#moves;
      return leaving ? [...this.members, memberOf(leaving)] : this.members;
    });
    this.#moves = new OpenMoves(environment, segment, {
      channel: this.#channel,
      epoch: this.#epoch,
      uncounted: this.#uncounted,
      turns: this.#replacing,
      inTurn: (action) => this.#inTurn(action),
      isMovable: (replica) =>
        replica.state === 'open' &&
        this.#replicas.includes(replica) &&
        !this.#isFreed &&
        !this.#closing.signal.aborted,
      isFreed: () => this.#isFreed,
      isHeld: () => this.#waiting > 0,
      grant: (isWanted) => this.#grant('restore', isWanted),
      replace: (old, by) => this.#put(this.#replicas.indexOf(old), by),
      failed: (replica, error) => this.#failed(replica, error),
      // A closed replica does not need an epoch, and no append comes any more.
      knowsEpoch: (isHeld) => this.#knowsEpoch(isHeld, this.#closing.signal),
    });
  }

  get channel(): number {
    return this.#channel;
  }

  /** Ids of the backups that have, or are about to have, a replica. */
  get members(): number[] {
    return this.#replicas.filter(({ state }) => state !== 'lost').map(memberOf);
  }

  /** Grants r buffers, all at once. Appends may be posted when it resolves. Waits while there are too few backups. */
  async open(): Promise<void> {
    const { options, link } = this.environment;
    const purpose = this.segment.role === 'head' ? 'open' : 'clean';
    while (this.#replicas.length < options.replicas) {
      const missing = options.replicas - this.#replicas.length;
      await Promise.all(Array.from({ length: missing }, () => this.#openOne(purpose)));
    }
    this.environment.refuse(purpose, undefined);
    this.#isOpen = true;
    await link.openChannel(
      {
        channel: this.#channel,
        ...this.segment.memory,
        targets: this.#replicas.map(({ setup }) => setup),
        traced: tracedSegment(this.segment.identity),
      },
      {
        acknowledged: this.onAcknowledged,
        lost: (target, reason) => {
          if (!this.#moves.lost(target, reason)) this.#lost(target, reason);
        },
        caughtUp: (target) => {
          if (!this.#moves.caughtUp(target)) this.#find(target)?.caughtUp.resolve();
        },
      },
    );
    this.#uncounted.free();
  }

  /**
   * The predecessor is durably closed; resolves when appends may be acknowledged.
   * @throws the reason for which the log ended meanwhile
   */
  async becomeHead(): Promise<void> {
    await this.#inTurn(() => this.#epoch.becomeHead());
    this.environment.ended.throwIfAborted();
  }

  /** All replicas are complete: closes them, and the replacements of those that are lost meanwhile. */
  async close(certificate: Certificate): Promise<void> {
    this.#closing.abort();
    while (this.#moves.isJoining || this.#replicas.some(({ state }) => state !== 'closed')) {
      await this.#replacing.idle();
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

  /** The segment is not part of the log any more: its replicas are not replaced, and the backups may free them. */
  async free(): Promise<void> {
    this.#isFreed = true;
    await this.#replacing.idle();
    for (const member of this.members) this.#uncounted.outdate(member);
    this.#replicas = [];
    this.#uncounted.free();
  }

  /** The log has ended: the worker can forget the segment. */
  async forget(): Promise<void> {
    // A data plane that has ended has forgotten everything.
    await this.environment.link.endChannel(this.#channel).catch(() => {});
  }

  /** A member has left or failed. Replaces its closed replica; the worker reports open ones as lost. */
  memberLost(member: number, certificate: Certificate | undefined): void {
    if (this.#isFreed) return;
    for (const replica of this.#replicas.filter(({ connection }) => connection.member === member)) {
      this.environment.connections.suspect(replica.connection);
      if (replica.state === 'open') this.#lost(replica.setup.target, 'its backup is gone');
      else if (certificate) void this.#replaceClosed(replica, certificate);
    }
  }

  /**
   * A backup is to go. Resolves when another one has its replica; appends go on meanwhile.
   * @param certificate of a closed segment
   */
  async retire(member: number, certificate: Certificate | undefined): Promise<void> {
    for (const replica of [...this.#replicas]) {
      if (replica.connection.member !== member || this.#isFreed) continue;
      if (replica.state === 'open' && this.#isOpen) await this.#moves.move(replica);
      else if (replica.state === 'closed' && certificate) await this.#replaceClosed(replica, certificate);
    }
  }

  /** A backup is back that has a replica from before it was lost. It frees it, at once or when the others are whole. */
  returned(member: number): void {
    if (this.#isFreed || this.#uncounted.isWantedAt(member)) return;
    this.#uncounted.outdate(member);
    const isWhole = this.#replicas.every(({ state }) => state !== 'lost');
    if (this.#isOpen && this.#waiting === 0 && isWhole) this.#uncounted.free();
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
      // A disk may be slow. A replica is replaced only if its backup has left or failed, or has lost it.
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
    this.#uncounted.outdate(replica.connection.member);
    if (!this.#isOpen) {
      // Nothing was written yet: `open` asks another backup.
      this.#replicas = this.#replicas.filter((other) => other !== replica);
      return;
    }
    this.#waiting += 1;
    void this.#inTurn(async () => {
      await this.#replace(replica);
      this.#waiting -= 1;
      await this.#agree();
    });
  }

  #inTurn(action: () => Promise<void>): Promise<void> {
    return this.#replacing.run(action).catch((error: unknown) => this.#end(error));
  }

  async #replace(lost: Replica): Promise<void> {
    const { link } = this.environment;
    const index = this.#replicas.indexOf(lost);
    // A lost replacement has been replaced already.
    if (index < 0) return;
    for (let target = lost.setup.target; ; ) {
      // Each attempt has its own epoch: a failed one may have been committed although its answer was lost.
      this.#epoch.begin();
      const replacement = await this.#grant('replace');
      if (!replacement) return;
      this.environment.refuse('replace', undefined);
      this.#put(index, replacement);
      const certificate = this.segment.posted;
      link.commands.replace({ channel: this.#channel, lost: target, target: replacement.setup });
      target = replacement.setup.target;
      if (await this.#catchUp(replacement, certificate)) break;
    }
  }

  /**
   * The order matters: all replacements, their commits, the epochs of all replicas, the coordinator's minimum,
   * acknowledgements. Replicas that were lost together share one round: if the minimum were raised after the first
   * replacement, that one would be the only replica that counts until the others are replaced, although the backups of
   * the lost replicas may live.
   */
  async #agree(): Promise<void> {
    if (!(await this.#knowsEpoch())) return;
    this.environment.link.commands.resume(this.#channel);
    this.#uncounted.free();
  }

  /**
   * Has replicas and coordinator know the epoch; false where another replica must be replaced first.
   * @param isHeld whether nothing is acknowledged before that
   * @param unneeded aborted when the coordinator need not know it
   */
  async #knowsEpoch(isHeld = () => true, unneeded?: AbortSignal): Promise<boolean> {
    if (this.#waiting > 0) return false;
    await Promise.all(this.#replicas.map((replica) => this.#tellEpoch(replica)));
    if (this.#waiting > 0) return false;
    await this.#epoch.tell(isHeld, unneeded);
    return this.#waiting === 0;
  }

  /** False when the replacement is lost, too. */
  async #catchUp(replacement: Replica, certificate: Certificate): Promise<boolean> {
    try {
      await within(replacement.caughtUp.promise, { signal: this.environment.ended });
      await replacement.connection.commit(this.segment.identity, this.#epoch.value, certificate);
      return true;
    } catch (error) {
      this.#throwIfFenced(error);
      replacement.state = 'lost';
      this.#uncounted.outdate(replacement.connection.member);
      this.environment.connections.suspect(replacement.connection);
      return false;
    }
  }

  async #tellEpoch(replica: Replica): Promise<void> {
    if (replica.state !== 'open') return;
    try {
      await replica.connection.setEpoch(this.segment.identity, this.#epoch.value);
    } catch (error) {
      this.#failed(replica, error);
    }
  }

  /** A closed replica does not need an epoch: its certificate shows that it is complete. Replaced once, in turn. */
  #replaceClosed(lost: Replica, certificate: Certificate): Promise<void> {
    lost.state = 'lost';
    return this.#inTurn(async () => {
      const index = this.#replicas.indexOf(lost);
      if (index < 0) return;
      this.#uncounted.outdate(lost.connection.member);
      while (!this.#isFreed && !(await this.#copyClosed(index, certificate))) {
        this.environment.ended.throwIfAborted();
      }
      if (this.#replicas.every(({ state }) => state !== 'lost')) this.#uncounted.free();
    });
  }

  async #copyClosed(index: number, certificate: Certificate): Promise<boolean> {
    const replacement = await this.#grant('restore', () => !this.#isFreed, certificate);
    this.environment.refuse('restore', undefined);
    if (!replacement) return true;
    if (replacement.state === 'closed') {
      this.#put(index, replacement);
      return true;
    }
    try {
      await copyClosed(this.environment, this.segment, this.#epoch.value, replacement, certificate);
      this.#put(index, replacement);
      return true;
    } catch (error) {
      this.#uncounted.abandon(replacement.connection.member);
      this.#throwIfFenced(error);
      this.environment.connections.suspect(replacement.connection);
      return false;
    }
  }

  /** A backup that was lost may be back with its closed replica: then nothing is copied. */
  async #hasClosed(connection: BackupConnection, certificate: Certificate): Promise<boolean> {
    if (!this.#uncounted.isStaleAt(connection.member)) return false;
    try {
      await connection.retake(this.segment.identity, certificate);
      return true;
    } catch (error) {
      this.#throwIfFenced(error);
      const { logger } = this.environment.options;
      const segmentId = String(this.segment.identity.segmentId);
      logger?.debug?.(
        { member: connection.member, segmentId, reason: messageOf(error) },
        'a replica is copied',
      );
      return false;
    }
  }

  async #openOne(purpose: GrantPurpose): Promise<void> {
    const replica = await this.#grant(purpose);
    if (replica) this.#put(this.#replicas.length, replica);
  }

  /** Makes a granted buffer one of the replicas. */
  #put(index: number, replica: Replica): void {
    this.#replicas[index] = replica;
    this.#uncounted.granted(replica.connection.member);
  }

  /** @param certificate of a closed segment: a backup may have its replica */
  #grant(
    purpose: GrantPurpose,
    isWanted = () => !this.#isFreed,
    certificate?: Certificate,
  ): Promise<Replica | undefined> {
    const request = {
      ...this.segment.identity,
      epoch: this.#epoch.value,
      committed: purpose === 'open' || purpose === 'clean',
      survivor: this.segment.role === 'survivor',
    };
    const watch: GrantWatch = {
      taken: () => [...this.members, ...this.#uncounted.asked],
      asked: (member) => this.#uncounted.ask(member),
      abandoned: (member) => this.#uncounted.abandon(member),
      isWanted,
      ...(certificate && { hasClosed: (connection) => this.#hasClosed(connection, certificate) }),
    };
    return this.#grants.grant(purpose, request, watch);
  }

  #failed(replica: Replica, error: unknown): void {
    this.#throwIfFenced(error);
    this.#lost(replica.setup.target, messageOf(error));
  }

  #throwIfFenced(error: unknown): void {
    throwIfFenced(this.environment, error);
  }

  #end(error: unknown): void {
    this.environment.fail(error instanceof Error ? error : new Error(String(error)));
  }

  #find(target: number): Replica | undefined {
    return this.#replicas.find(({ setup }) => setup.target === target);
  }
}

function memberOf({ connection }: Replica): number {
  return connection.member;
}
