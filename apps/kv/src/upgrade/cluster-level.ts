import { type Levels, ownLevels, type Subscription } from '@rdmc/common';
import { openRecord, readShape, whole } from '@rdmc/common/shapes';
import type { CoordinatorClient } from '@rdmc/tailwind/coordinator';
import { type EnlistMessage, NOT_TOLD, Topic } from '../cluster/messages.js';
import { codeOf } from '../errors.js';
import { ENLIST_WAIT_MS } from '../limits.js';
import { askSurely } from '../node/ask-surely.js';
import { requireLevel } from './level-keeper.js';

export const levelMessage = openRecord({ level: whole(1) });

export interface ClusterLevelOptions {
  readonly coordinator: Pick<CoordinatorClient, 'request' | 'onLead' | 'onMessage'>;
  /** This member's name for people. */
  readonly name: string;
  /** Of this server's log; 0: it has none. */
  readonly segmentBytes?: number;
  /** The backups that this server's log needs. */
  readonly replicas?: number;
  /** The cluster has a higher level from now on. */
  readonly onRaised: (level: number) => void;
  /** The cluster has a level that this process does not speak. */
  readonly onRefused: (error: unknown) => void;
  /** That this process speaks. */
  readonly levels?: Levels;
}

/** The level of the cluster, as a server knows it: it writes files in the formats of this level. It never falls. */
export class ClusterLevel {
  readonly #levels: Levels;
  readonly #subscriptions: readonly Subscription[];

  private constructor(
    private level: number,
    private readonly options: ClusterLevelOptions,
  ) {
    const { coordinator, levels = ownLevels() } = options;
    this.#levels = levels;
    this.#subscriptions = [
      // The one that leads now may have been told to raise it while this server was not connected.
      coordinator.onLead(() => void this.#ask()),
      coordinator.onMessage(Topic.LEVEL, (_, body) => this.#learn(readShape(levelMessage, body).level)),
    ];
  }

  /**
   * Asks the coordinator, before this process opens a file.
   * @throws KvError ERR_RDMC_KV_LEVEL: this process does not speak the level; MeshRemoteError with the same, or with
   *   ERR_RDMC_KV_SEGMENT_SIZE or ERR_RDMC_KV_REPLICAS; as `askSurely`
   */
  static async enlist(options: ClusterLevelOptions): Promise<ClusterLevel> {
    const { coordinator, name, levels = ownLevels() } = options;
    const enlistment = enlistmentOf(options, false);
    const answer = await askSurely(() => coordinator.request(Topic.LEVEL, enlistment), ENLIST_WAIT_MS);
    const { level } = readShape(levelMessage, answer);
    requireLevel(name, levels, level);
    return new ClusterLevel(level, options);
  }

  get value(): number {
    return this.level;
  }

  close(): void {
    for (const each of this.#subscriptions) each.close();
  }

  async #ask(): Promise<void> {
    const { coordinator, onRefused } = this.options;
    const enlistment = enlistmentOf(this.options, true);
    try {
      const answer = await askSurely(() => coordinator.request(Topic.LEVEL, enlistment));
      this.#learn(readShape(levelMessage, answer).level);
    } catch (error) {
      // Otherwise another coordinator leads, or will, and is asked then.
      if (codeOf(error) === 'ERR_RDMC_KV_LEVEL') onRefused(error);
    }
  }

  #learn(level: number): void {
    if (level <= this.level) return;
    const { name, onRaised, onRefused } = this.options;
    try {
      requireLevel(name, this.#levels, level);
    } catch (error) {
      onRefused(error);
      return;
    }
    this.level = level;
    onRaised(level);
  }
}

function enlistmentOf(
  { segmentBytes = 0, replicas = NOT_TOLD }: ClusterLevelOptions,
  isRunning: boolean,
): EnlistMessage {
  return { segmentBytes, replicas, isRunning };
}
