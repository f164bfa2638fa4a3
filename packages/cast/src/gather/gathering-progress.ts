import type { CastPhase, CastProgress, CastRoute } from '../cast-progress.js';
import { HEARTBEAT_MS } from '../constants.js';
import type { Latest } from '../latest.js';
import type { OriginFacts } from '../pull/origin.js';
import type { Swarm } from '../pull/swarm.js';
import type { GatheredReceiver } from './gathered-receiver.js';

/** Publishes snapshots of a gathering cast, five times a second. */
export class GatheringProgress {
  /** What is cast, once it is hashed. */
  facts: OriginFacts | undefined;
  swarm: Swarm | undefined;
  route: CastRoute | undefined;
  #isOver = false;
  readonly #timer = setInterval(() => this.publish(), HEARTBEAT_MS);

  constructor(
    private readonly receivers: readonly GatheredReceiver[],
    private readonly latest: Latest<CastProgress>,
  ) {
    this.publish();
  }

  publish(): void {
    const { facts, swarm, receivers, route } = this;
    const totalBytes = facts?.bytes ?? 0;
    this.latest.set({
      phase: this.#phase(),
      attempt: Math.max(1, ...receivers.map(({ attempts }) => attempts)),
      totalBytes,
      totalFiles: facts?.files ?? 0,
      sentBytes: swarm?.sentBytes ?? 0,
      keptBytes: 0,
      receivers: receivers.map((receiver) => receiver.snapshot(totalBytes)),
      ...(route && { route }),
    });
  }

  end(): void {
    clearInterval(this.#timer);
    this.#isOver = true;
    this.publish();
    this.latest.end();
  }

  #phase(): CastPhase {
    if (this.#isOver) return 'done';
    if (!this.facts) return 'preparing';
    const served = this.receivers.filter(({ link, isHere }) => isHere && link!.done === undefined);
    if (!this.swarm?.isOpen || served.length === 0) return 'connecting';
    return served.every(({ link }) => link!.isFinishing) ? 'finishing' : 'sending';
  }
}
