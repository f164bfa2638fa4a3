import {
  type ChannelCosts,
  type ChannelReport,
  type ChannelPattern as Pattern,
  type SimulateChannelsOptions,
  simulateChannels,
} from '@rdmc/simulator';
import { type Bench, reproduceCommand, type Way } from '../catalogue/figure.js';
import type { Outcome } from '../record/record.js';
import { knownResults } from './known-results.js';
import { SIMULATED } from './sweep.js';
import { line } from './values.js';

/** Bytes of a message. */
const SIZES = [64, 128, 256, 512, 1024, 2048, 4096, 16_384, 65_536];
const WORKERS = 4;
/** The default of `simulateChannels`, and of the paper. */
const SLOTS = 256;
/** Messages of each requester: a full pool of 256 slots is a small part of them. */
const MESSAGES = 8000;
/** Messages per second of all requesters together, for latencies: far below what any of them can do. */
const LOW_RATE = 10_000;

const VARIANTS = [
  { id: 'pull', name: 'pull', own: true, options: { confirmation: 'bitmap', mode: 'pull' } },
  { id: 'push', name: 'push', own: true, options: { confirmation: 'bitmap', mode: 'push' } },
  { id: 'baseline', name: 'per work request', own: false, options: { confirmation: 'per-request' } },
] as const;
type Variant = (typeof VARIANTS)[number]['id'];

const NOTES = [
  'The machines of @rdmc/hipower over simulated NICs, links of 40 Gbit/s and threads. Two costs are fitted to Figure 5a: 0.35 µs of ' +
    'the requester for a message with its confirmation, 0.2 µs without. The others are assumed.',
  'Processor time is that of work; polling, packet loss and congestion are not simulated.',
];

/** The number of a report that a figure shows. */
type Selector = (report: ChannelReport) => number;

interface Look {
  readonly title: string;
  readonly description: string;
  readonly unit: string;
  readonly digits: number;
  readonly pick: Selector;
}

export const looks = {
  rate: {
    title: 'messages per second',
    description:
      'Messages per second of all requesters, by the size of a message; both axes are logarithmic. Higher is better.',
    unit: 'messages per second',
    digits: 0,
    pick: (report) => report.messagesPerSecond,
  },
  latency: {
    title: 'median latency',
    description:
      'Microseconds from the time when a message was due to its delivery, at a low rate; both axes are logarithmic. Lower is better.',
    unit: 'microseconds',
    digits: 2,
    pick: (report) => report.latency.p50,
  },
  requester: {
    title: 'work of the requesters',
    description: 'Microseconds of work for each message, at the highest rate. Lower is better.',
    unit: 'microseconds per message',
    digits: 3,
    pick: (report) => report.requesterWork,
  },
  responder: {
    title: 'work of the responders',
    description: 'Microseconds of work for each message, at the highest rate. Lower is better.',
    unit: 'microseconds per message',
    digits: 3,
    pick: (report) => report.responderWork,
  },
} as const satisfies Record<string, Look>;
export type LookName = keyof typeof looks;

/** Simulations of channels by pattern, variant and size; each runs once. */
export class Channels {
  readonly #reports = new Map<string, ChannelReport>();

  /** `costs` are in place of some of the simulator's. */
  constructor(private readonly costs: Partial<ChannelCosts> = {}) {}

  value(pattern: Pattern, look: LookName, variant: Variant, byteLength: number): number {
    return looks[look].pick(this.#report(pattern, look === 'latency', variant, byteLength));
  }

  /** Ours over confirmation of each request. */
  ratio(pattern: Pattern, look: LookName, variant: Variant, byteLength: number): string {
    const base = this.value(pattern, look, 'baseline', byteLength);
    return (this.value(pattern, look, variant, byteLength) / base).toFixed(2);
  }

  panel(pattern: Pattern, look: LookName, who: string): Outcome['panels'][number] {
    const { title, description, unit, digits } = looks[look];
    return {
      title: `${who}, simulated: ${title}`,
      description,
      kind: 'lines',
      x: { label: 'bytes of a message', scale: 'log2', values: SIZES },
      y: { label: unit, scale: 'log10', digits },
      series: VARIANTS.map(({ id, name, own }) => ({
        ...line(name, SIZES, digits, (size) => this.value(pattern, look, id, size)),
        own,
      })),
    };
  }

  /** The gains of pull in percent: the least and the largest of all sizes. */
  gains(pattern: Pattern): string {
    const all = SIZES.map((size) => 100 * (Number(this.ratio(pattern, 'rate', 'pull', size)) - 1));
    return `${Math.min(...all).toFixed(0)} to ${Math.max(...all).toFixed(0)}%`;
  }

  #report(pattern: Pattern, isSlow: boolean, variant: Variant, byteLength: number): ChannelReport {
    const key = `${pattern} ${isSlow} ${variant} ${byteLength}`;
    const known = this.#reports.get(key);
    if (known !== undefined) return known;
    const messages = isSlow ? MESSAGES / 40 : MESSAGES;
    const options: SimulateChannelsOptions = {
      cluster: 'hipower',
      pattern,
      workers: WORKERS,
      byteLength,
      ...VARIANTS.find(({ id }) => id === variant)!.options,
      slots: SLOTS,
      messages,
      costs: this.costs,
      ...(isSlow && { perSecond: pattern === 'gather' ? LOW_RATE / WORKERS : LOW_RATE }),
    };
    const report = simulateChannels(options);
    this.#reports.set(key, report);
    return report;
  }
}

/** The way `simulated` of a figure of HiPower. Its notes may depend on the simulations. */
export function simulatedChannels(
  figure: string,
  outcomeOf: (channels: Channels) => Omit<Outcome, 'notes' | 'missing'> & Partial<Pick<Outcome, 'notes'>>,
): Way {
  return {
    id: SIMULATED,
    name: 'simulator',
    kind: 'calibrated',
    how:
      `Machines of HiPower on simulated hardware of the paper: links of 40 Gbit/s, ${SLOTS} slots, ${WORKERS} workers where there are ` +
      'several.',
    command: reproduceCommand(figure, SIMULATED),
    minutes: 1,
    rivals: [],
    run: async ({ say }: Bench) => {
      say(`channels on simulated hardware; the simulator reproduced ${knownResults()} known results`);
      const { notes = [], ...outcome } = outcomeOf(new Channels());
      return { ...outcome, notes: [...notes, ...NOTES], missing: [] };
    },
  };
}
