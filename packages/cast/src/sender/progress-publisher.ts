import type { CastPhase, CastProgress, CastRoute, ReceiverProgress } from '../cast-progress.js';
import { HEARTBEAT_MS } from '../constants.js';
import type { FileSurvey } from '../file-survey.js';
import type { Latest } from '../latest.js';
import type { Pump } from './pump.js';
import type { ReceiverLink } from './receiver-link.js';

/** Publishes snapshots of a cast's progress, five times a second and at each change of phase. */
export class ProgressPublisher {
  phase: CastPhase = 'preparing';
  attempt = 1;
  survey: FileSurvey | undefined;
  pump: Pump | undefined;
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
    for (const link of this.links.values()) this.#settled.set(link.name, link.snapshot(this.#contentBytes));
    this.links.clear();
    this.pump = undefined;
  }

  publish(): void {
    const { phase, attempt, survey, pump, route } = this;
    const totalBytes = this.#totalBytes;
    this.latest.set({
      phase,
      attempt,
      totalBytes,
      totalFiles: survey?.files ?? 0,
      sentBytes: pump ? this.#contentBytes(pump.sentMessages, 0) : 0,
      receivers: this.names.map((name) => this.#receiver(name)),
      ...(route && { route }),
    });
  }

  end(): void {
    clearInterval(this.#timer);
    this.enter('done');
    this.latest.end();
  }

  get #totalBytes(): number {
    const { pump, survey } = this;
    const read = pump?.contentBytes.at(-1) ?? 0;
    return pump?.messages === undefined ? Math.max(survey?.contentBytes ?? 0, read) : read;
  }

  #receiver(name: string): ReceiverProgress {
    const link = this.links.get(name);
    if (link) return link.snapshot(this.#contentBytes);
    return this.#settled.get(name) ?? { name, state: 'connecting', receivedBytes: 0, storedBytes: 0 };
  }

  readonly #contentBytes = (messages: number, partialBytes: number): number => {
    const bytes = this.pump?.contentBytes ?? [0];
    if (messages >= bytes.length) return bytes.at(-1)!;
    const before = bytes[messages]!;
    const next = bytes[messages + 1];
    return next === undefined ? before : Math.min(next, before + partialBytes);
  };
}
