import type { SerialQueue } from '@rdmc/common';
import { JoiningReplica } from './joining-replica.js';
import type { LogEnvironment } from './log-environment.js';
import type { Replica } from './replica-grants.js';
import type { ReplicatedSegment } from './replicated-segment.js';
import type { SegmentEpoch } from './segment-epoch.js';
import type { UncountedReplicas } from './uncounted-replicas.js';

/** The replicas of the segment. */
export interface MovedSet {
  readonly channel: number;
  readonly epoch: SegmentEpoch;
  readonly uncounted: UncountedReplicas;
  /** In which replicas are replaced. */
  readonly turns: Pick<SerialQueue, 'length'>;
  inTurn(action: () => Promise<void>): Promise<void>;
  /** Whether the replica is open and counts, and stays so. */
  isMovable(replica: Replica): boolean;
  /** Whether the segment is not part of the log any more. */
  isFreed(): boolean;
  /** Whether nothing is acknowledged until another replica is replaced. */
  isHeld(): boolean;
  grant(isWanted: () => boolean): Promise<Replica | undefined>;
  /** Another replica has this one's place. */
  replace(old: Replica, by: Replica): void;
  /** A request of the replica's connection failed: the replica is lost. */
  failed(replica: Replica, error: unknown): void;
  /**
   * Has the replicas know the epoch, and the coordinator unless the segment is closed meanwhile; false where another replica must be
   * replaced first.
   */
  knowsEpoch(isHeld: () => boolean): Promise<boolean>;
}

/**
 * Moves open replicas to other backups while appends go on:
 *
 * ```
 * another backup gets a copy, and then each append: its replica has everything that was acknowledged, and appends wait for it, too
 * its replica is committed, with the next epoch: recovery may use it
 * the other backups know the epoch, and then the coordinator does: recovery does not use the old replica any more
 * appends do not go to the old one, which is freed
 * ```
 *
 * So at each moment, each replica that recovery may use has everything that was acknowledged.
 */
export class OpenMoves {
  #joining: JoiningReplica | undefined;
  /** A replica whose place another one has: appends go to it, too, until recovery will not use it. */
  #leaving: Replica | undefined;

  constructor(
    private readonly environment: LogEnvironment,
    private readonly segment: ReplicatedSegment,
    private readonly set: MovedSet,
  ) {}

  /** Whether a replica is being copied: the segment must not be closed before that has ended. */
  get isJoining(): boolean {
    return this.#joining !== undefined;
  }

  get leaving(): Replica | undefined {
    return this.#leaving;
  }

  /** In turns: the replacements of others that were lost meanwhile come first. */
  async move(old: Replica): Promise<void> {
    const { set, environment } = this;
    while (!environment.ended.aborted && (this.#leaving === old || set.isMovable(old))) {
      await set.inTurn(() => (this.#leaving ? this.#leave() : this.#join(old)));
    }
  }

  /** A target is lost, or has caught up. Returns whether it is that of a replica that joins. */
  lost(target: number, reason: string): boolean {
    if (this.#leaving?.setup.target === target) this.#leaving.state = 'lost';
    return this.#joining?.lost(target, reason) ?? false;
  }

  caughtUp(target: number): boolean {
    return this.#joining?.caughtUp(target) ?? false;
  }

  /** Another replica takes the place of this one. */
  async #join(old: Replica): Promise<void> {
    const { environment, segment, set } = this;
    this.#joining = new JoiningReplica(environment, segment, {
      channel: set.channel,
      isWanted: () => set.isMovable(old),
      // A replacement of a lost replica must not wait until this finds a buffer.
      grant: () => set.grant(() => set.isMovable(old) && set.turns.length === 1),
      abandon: (replica) => this.#forsake(replica),
    });
    const joined = await this.#joining.join().finally(() => {
      this.#joining = undefined;
    });
    if (!joined) return;
    const { replica, certificate } = joined;
    set.epoch.begin();
    set.replace(old, replica);
    this.#leaving = old;
    try {
      await replica.connection.commit(segment.identity, set.epoch.value, certificate);
    } catch (error) {
      set.failed(replica, error);
    }
    await this.#leave();
  }

  /** A replica that joined, and does not get a place. If appends wait for a lost replica, its replacement ends that. */
  #forsake({ connection, state }: Replica): void {
    const { connections, link } = this.environment;
    const { uncounted, channel, isHeld } = this.set;
    uncounted.abandon(connection.member);
    if (state === 'lost') connections.suspect(connection);
    if (isHeld()) return;
    link.commands.resume(channel);
    uncounted.free();
  }

  async #leave(): Promise<void> {
    const { set, environment } = this;
    const old = this.#leaving;
    // Appends wait for it until it has left.
    const isHeld = (): boolean => set.isHeld() || old?.state === 'lost';
    if (!old || !(set.isFreed() || (await set.knowsEpoch(isHeld)))) return;
    this.#leaving = undefined;
    const { commands } = environment.link;
    commands.remove(set.channel, old.setup.target);
    commands.resume(set.channel);
    set.uncounted.outdate(old.connection.member);
    set.uncounted.free();
  }
}
