/** As Redis: the latest samples that are kept of each event. */
const MOST_SAMPLES = 160;

/** A second in which an event took at least the threshold. */
export interface LatencySample {
  /** Seconds since 1970. */
  readonly at: number;
  /** The longest one of that second. */
  ms: number;
}

/**
 * `command` and `fast-command`: the run of a command, without the wait for the log; `append`: the time from an append to its
 * acknowledgement by all backups; `expire-cycle`: a search for expired keys.
 */
export type LatencyEvent = 'command' | 'fast-command' | 'append' | 'expire-cycle';

interface History {
  readonly samples: LatencySample[];
  /** Milliseconds, since the start or the last reset. */
  longest: number;
}

/** Keeps the events that took at least a threshold. */
export class Latency {
  readonly #events = new Map<string, History>();

  /** @param thresholdMs 0: nothing is kept */
  constructor(readonly thresholdMs: number) {}

  get isOn(): boolean {
    return this.thresholdMs > 0;
  }

  /** Keeps an event that ended just now, if it took long. */
  add(event: LatencyEvent, durationMs: number): void {
    const ms = Math.round(durationMs);
    if (!this.isOn || durationMs < this.thresholdMs) return;
    let history = this.#events.get(event);
    if (!history) {
      history = { samples: [], longest: 0 };
      this.#events.set(event, history);
    }
    const { samples } = history;
    const at = Math.floor(Date.now() / 1000);
    const last = samples.at(-1);
    history.longest = Math.max(history.longest, ms);
    if (last?.at === at) last.ms = Math.max(last.ms, ms);
    else samples.push({ at, ms });
    if (samples.length > MOST_SAMPLES) samples.shift();
  }

  /** The events that took long, in the order of their first sample. */
  events(): { readonly event: string; readonly latest: LatencySample; readonly longest: number }[] {
    return [...this.#events].map(([event, { samples, longest }]) => ({
      event,
      latest: samples.at(-1)!,
      longest,
    }));
  }

  /** The samples of an event, the oldest first. */
  history(event: string): readonly LatencySample[] {
    return this.#events.get(event)?.samples ?? [];
  }

  /** Forgets these events, or all. Returns the number of events that had samples. */
  reset(events: readonly string[]): number {
    if (events.length > 0) return events.filter((event) => this.#events.delete(event)).length;
    const { size } = this.#events;
    this.#events.clear();
    return size;
  }
}
