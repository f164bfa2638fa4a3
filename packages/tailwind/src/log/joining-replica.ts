import { within } from '@rdmc/common';
import type { Certificate } from '../format/scan.js';
import type { LogEnvironment } from './log-environment.js';
import type { Replica } from './replica-grants.js';
import type { ReplicatedSegment } from './replicated-segment.js';

/** The replicas that the further one is to join. */
export interface JoinedSet {
  /** Of the open segment. */
  readonly channel: number;
  /** Whether the further replica is needed, and can join. */
  isWanted(): boolean;
  /** A buffer at a backup without a replica of the segment; undefined where it is not needed any more. */
  grant(): Promise<Replica | undefined>;
  /** The replica does not count, and never did. */
  abandon(replica: Replica): void;
}

/** A replica that has caught up, and what its backup can compare it with. */
export interface Joined {
  readonly replica: Replica;
  readonly certificate: Certificate;
}

/** A further replica of an open segment, while it gets what the others have. Appends go on. */
export class JoiningReplica {
  #replica: Replica | undefined;

  constructor(
    private readonly environment: Pick<LogEnvironment, 'link' | 'ended'>,
    private readonly segment: ReplicatedSegment,
    private readonly set: JoinedSet,
  ) {}

  /**
   * Resolves when a replica has everything that was acknowledged; from then on its loss is that of the others. Undefined: it
   * is not needed any more.
   * @throws the reason for which the log ended meanwhile
   */
  async join(): Promise<Joined | undefined> {
    const { environment, segment, set } = this;
    const { link, ended } = environment;
    while (set.isWanted()) {
      const replica = await set.grant();
      if (!replica) return undefined;
      this.#replica = replica;
      const certificate = segment.posted;
      link.commands.join({ channel: set.channel, target: replica.setup });
      await within(replica.caughtUp.promise, { signal: ended }).catch(() => ended.throwIfAborted());
      this.#replica = undefined;
      // It may be lost since it has caught up.
      if (replica.state === 'open' && set.isWanted()) return { replica, certificate };
      link.commands.remove(set.channel, replica.setup.target);
      set.abandon(replica);
    }
    return undefined;
  }

  /** Its target is lost, or has caught up. Returns whether the target is its own. */
  lost(target: number, reason: string): boolean {
    const replica = this.#replica;
    if (replica?.setup.target !== target) return false;
    replica.state = 'lost';
    replica.caughtUp.reject(new Error(reason));
    return true;
  }

  caughtUp(target: number): boolean {
    const replica = this.#replica;
    if (replica?.setup.target !== target) return false;
    replica.caughtUp.resolve();
    return true;
  }
}
