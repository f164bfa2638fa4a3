import type { CastPhase, CastProgress, CastRoute, ReceiverProgress } from '../cast-progress.js';
import { HEARTBEAT_MS } from '../constants.js';
import type { FileSurvey } from '../file-survey.js';
import type { Latest } from '../latest.js';
import type { Phase } from './phase.js';
import type { Pump } from './pump.js';
import type { ReceiverLink } from './receiver-link.js';

/** Publishes snapshots of a cast's progress, five times a second and at each change of phase. */
export class ProgressPublisher {
  phase: CastPhase = 'preparing';
  attempt = 1;
  survey: FileSurvey | undefined;
  /** The streams, once they are planned; the first ones have a pump each. */
  phases: readonly Phase[] | undefined;
  readonly pumps: Pump[] = [];
  route: CastRoute | undefined;
  /** Links of the latest attempt, by the receiver's name. */
  readonly links = new Map<string, ReceiverLink>();
  /** The last progress of receivers in earlier attempts. */
  readonly #settled = new Map<string, ReceiverProgress>();
  readonly #timer: NodeJS.Timeout;

  constructor(
    private readonly names: readonly string[],
    private readonly latest: Latest<CastProgress>,
  ) {
    this.#timer = setInterval(() => this.publish(), HEARTBEAT_MS);
    this.publish();
  }

  enter(phase: CastPhase): void {
    this.phase = phase;
    this.publish();
  }

  /** Another attempt begins: the progress of these receivers stays as it is until they have a new connection. */
  settle(): void {
    const totalBytes = this.#totalBytes;
    for (const link of this.links.values()) this.#settled.set(link.name, link.snapshot(totalBytes));
    this.links.clear();
    this.pumps.length = 0;
    this.phases = undefined;
  }

  publish(): void {
    const { phase, attempt, survey, pumps, route } = this;
    const totalBytes = this.#totalBytes;
    this.latest.set({
      phase,
      attempt,
      totalBytes,
      totalFiles: survey?.files ?? 0,
      sentBytes: pumps.reduce((sum, pump) => sum + pump.bytesIn(pump.sentMessages, 0), 0),
      keptBytes: pumps.reduce((sum, pump) => sum + pump.keptBytes, 0),
      receivers: this.names.map((name) => this.#receiver(name, totalBytes)),
      ...(route && { route }),
    });
  }

  end(): void {
    clearInterval(this.#timer);
    this.enter('done');
    this.latest.end();
  }

  get #totalBytes(): number {
    const { pumps, phases, survey } = this;
    if (!phases) return survey?.contentBytes ?? 0;
    const ofPhase = ({ contentBytes }: Phase, index: number): number => {
      const pump = pumps[index];
      const read = pump?.contentBytes.at(-1) ?? 0;
      return pump?.messages === undefined ? Math.max(contentBytes, read) : read;
    };
    return phases.reduce((sum, phase, index) => sum + ofPhase(phase, index), 0);
  }

  #receiver(name: string, totalBytes: number): ReceiverProgress {
    const link = this.links.get(name);
    if (link) return link.snapshot(totalBytes);
    return (
      this.#settled.get(name) ?? {
        name,
        state: 'connecting',
        receivedBytes: 0,
        storedBytes: 0,
        resumedBytes: 0,
      }
    );
  }
}
