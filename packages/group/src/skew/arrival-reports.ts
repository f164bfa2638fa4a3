import { MOST_REPORTED_ARRIVALS, REPORT_DELAY_MS } from '../constants.js';

/** What a receiver's reports need: time, and a way to the root. */
export interface ReportPort {
  /** Milliseconds. */
  now(): number;
  /** Sends a report to the root: numbers of messages, and how many microseconds ago each was complete. */
  send(messages: number[], ages: number[]): void;
}

/**
 * A receiver's reports of the messages of blocks that it has. A report has all messages of 10 ms, so that many messages cost
 * few reports; each message has its age, so that the delay does not count.
 */
export class ArrivalReports {
  #messages: number[] = [];
  #times: number[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly port: ReportPort) {}

  /** The message is complete here. */
  arrived(message: number): void {
    this.#messages.push(message);
    this.#times.push(this.port.now());
    if (this.#messages.length >= MOST_REPORTED_ARRIVALS) this.flush();
    else this.#timer ??= setTimeout(() => this.flush(), REPORT_DELAY_MS).unref();
  }

  /** Sends what has not been reported. */
  flush(): void {
    this.stop();
    const messages = this.#messages;
    if (messages.length === 0) return;
    const now = this.port.now();
    const ages = this.#times.map((time) => Math.max(0, Math.round((now - time) * 1000)));
    this.#messages = [];
    this.#times = [];
    this.port.send(messages, ages);
  }

  /** No report follows. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
