import { Clock } from '../clock.js';
import { SimulatorError } from '../errors.js';
import { refuseLarger } from '../memory-limit.js';
import { ChannelLink } from './link.js';
import { channelBytes } from './memory.js';
import { type ChannelSetting, checkChannelOptions, type SimulateChannelsOptions } from './options.js';
import { Requester } from './requester.js';
import { Thread } from './thread.js';
import { Wire } from './wire.js';

/** The result of `simulateChannels`. */
export interface ChannelReport {
  /** From the first message to the last delivery. */
  readonly microseconds: number;
  /** Deliveries of all responders together. */
  readonly deliveries: number;
  /** Messages of all requesters per second; a broadcast is one message. */
  readonly messagesPerSecond: number;
  /** Payload of these messages. */
  readonly gbitPerSecond: number;
  /** Microseconds from the time when a message was due to its delivery. */
  readonly latency: { readonly p50: number; readonly p99: number };
  /** Microseconds of work of all requesters for each message, polling not included. */
  readonly requesterWork: number;
  /** Microseconds of work of all responders for each message, polling not included. */
  readonly responderWork: number;
  /** READs of bitmaps, for each message. */
  readonly reads: number;
  /** Events of the simulation. */
  readonly events: number;
}

/** One simulation. */
class ChannelsRun {
  readonly #clock = new Clock();
  readonly #threads: readonly Thread[];
  readonly #senders: readonly Requester[];
  readonly #links: readonly ChannelLink[];
  readonly #latencies: Float64Array;
  #deliveries = 0;
  #endedAt = 0;

  constructor(private readonly setting: ChannelSetting) {
    const { requesters, responders, messages } = setting;
    this.#threads = Array.from({ length: requesters + responders }, () => new Thread(this.#clock));
    this.#latencies = new Float64Array(requesters * responders * messages);
    this.#senders = this.#threads
      .slice(0, requesters)
      .map((thread) => new Requester(setting, this.#clock, thread));
    const wire = new Wire(this.#clock, setting.cluster, setting.costs.request, this.#threads.length);
    this.#links = this.#senders.flatMap((sender, from) =>
      Array.from({ length: responders }, (_, index) => this.#link(wire, sender, from, requesters + index)),
    );
  }

  /** @throws SimulatorError ERR_RDMC_SIMULATION_STUCK */
  run(): void {
    for (const link of this.#links) link.start();
    for (const sender of this.#senders) sender.fill();
    const longest = this.#longestPause();
    this.#clock.run(() => {
      // Members that look for a bit that never changes would do so for ever.
      if (this.#clock.now > this.#endedAt + longest && !this.#isComplete) this.#stuck();
    });
    if (!this.#isComplete) this.#stuck();
  }

  get #isComplete(): boolean {
    return this.#deliveries === this.#latencies.length;
  }

  /** Microseconds between two deliveries, at most: far more than a whole pool of slots takes. */
  #longestPause(): number {
    const { slots, byteLength, cluster, interval } = this.setting;
    const pool = (slots * this.#links.length * (byteLength + 1000)) / (cluster.gbitPerSecond * 125);
    return 100_000 + 10 * (interval + pool);
  }

  #stuck(): never {
    const { length } = this.#latencies;
    const message = `${this.#deliveries} of ${length} messages were delivered: a defect of the simulator`;
    throw new SimulatorError('ERR_RDMC_SIMULATION_STUCK', message);
  }

  report(): ChannelReport {
    const { requesters, messages, byteLength } = this.setting;
    const latencies = this.#latencies.sort();
    const at = (share: number) => latencies[Math.floor(latencies.length * share)]!;
    const total = requesters * messages;
    const microseconds = this.#endedAt;
    const work = (some: readonly Thread[]) => some.reduce((sum, { busy }) => sum + busy, 0) / total;
    return {
      microseconds,
      deliveries: this.#deliveries,
      messagesPerSecond: (total / microseconds) * 1e6,
      gbitPerSecond: (total * byteLength * 8) / microseconds / 1000,
      latency: { p50: at(0.5), p99: at(0.99) },
      requesterWork: work(this.#threads.slice(0, requesters)),
      responderWork: work(this.#threads.slice(requesters)),
      reads: this.#links.reduce((sum, { reads }) => sum + reads, 0) / total,
      events: this.#clock.events,
    };
  }

  #link(wire: Wire, sender: Requester, from: number, to: number): ChannelLink {
    const end = (node: number) => ({ node, thread: this.#threads[node]! });
    const link = new ChannelLink(this.setting, wire, end(from), end(to), {
      freed: (slot) => sender.freed(slot),
      changed: () => sender.fill(),
      delivered: (number) => this.#delivered(sender.due[number]!),
    });
    sender.links.push(link);
    return link;
  }

  #delivered(due: number): void {
    this.#latencies[this.#deliveries] = this.#clock.now - due;
    this.#deliveries += 1;
    this.#endedAt = this.#clock.now;
    if (this.#deliveries === this.#latencies.length) for (const link of this.#links) link.stop();
  }
}

/**
 * Runs channels of HiPower on simulated hardware: the state machines of `@rdmc/hipower` at both ends, NICs, links and
 * threads. The costs of threads are fitted to the paper (`defaultChannelCosts`), so a result is calibrated, not predicted.
 * @throws SimulatorError ERR_RDMC_UNKNOWN_PRESET, ERR_RDMC_UNKNOWN_OPTION, ERR_RDMC_INVALID_OPTION,
 * ERR_RDMC_SIMULATION_TOO_LARGE (before it starts), ERR_RDMC_SIMULATION_STUCK
 */
export function simulateChannels(options: SimulateChannelsOptions): ChannelReport {
  const setting = checkChannelOptions(options);
  refuseLarger(channelBytes(setting), options.memoryLimitBytes);
  const run = new ChannelsRun(setting);
  run.run();
  return run.report();
}
