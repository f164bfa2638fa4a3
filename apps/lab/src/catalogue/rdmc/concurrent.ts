import type { SimulateOptions } from '@rdmc/simulator';
import type { Outcome, Panel } from '../../record/record.js';
import type { Reports } from '../../simulation/sweep.js';
import { line, MIB, median } from '../../simulation/values.js';
import type { Runs } from '../figure.js';
import { COSTS_ARE_ASSUMED } from './common.js';

/** The paper has every n; these suffice for the shape. */
const MEMBERS = [3, 4, 8, 16];
/** Messages and blocks of the authors' own experiment. Small ones are repeated, so that the start weighs less. */
const SIZES = [
  { name: '100 MB', byteLength: 1e8, blockBytes: MIB, messages: 1 },
  { name: '1 MB', byteLength: 1e6, blockBytes: 1e5, messages: 10 },
  { name: '10 KB', byteLength: 1e4, blockBytes: 4096, messages: 50 },
] as const;
const SENDERS: readonly { readonly name: string; readonly of: (nodes: number) => number }[] = [
  { name: 'all send', of: (nodes) => nodes },
  { name: 'half of them send', of: (nodes) => Math.ceil(nodes / 2) },
  { name: 'one sends', of: () => 1 },
];

/** One of the results: who sends what to how many. */
interface Point {
  readonly size: string;
  readonly senders: string;
  readonly nodes: number;
}

/** The name of a run; the first placement is the only one where there are no racks. */
const key = ({ size, senders, nodes }: Point, placement: number) =>
  `${size}, ${senders}, n=${nodes}${placement === 1 ? '' : `, placement ${placement}`}`;

const numbersTo = (most: number) => Array.from({ length: most }, (_, index) => index + 1);

/** Groups with the same members and different senders, all at once, on one cluster; with `placements` of them in its racks. */
export function concurrentRuns(cluster: string, placements = 1): Runs {
  const all = new Map<string, SimulateOptions>();
  for (const { name, ...size } of SIZES) {
    for (const { name: senders, of } of SENDERS) {
      for (const nodes of MEMBERS) {
        for (const seed of numbersTo(placements)) {
          const options = { cluster, nodes, ...size, senders: of(nodes), seed };
          all.set(key({ size: name, senders, nodes }, seed), options);
        }
      }
    }
  }
  return all;
}

/** Gbit/s of all groups together in each placement, as the paper counts: each message once. */
export function rates(reports: Reports, point: Point, placements = 1): number[] {
  return numbersTo(placements).map((each) => reports.of(key(point, each)).gbitPerSecond);
}

/** The median of all placements. */
export function aggregate(reports: Reports, point: Point, placements = 1): number {
  return median(rates(reports, point, placements));
}

/** A panel for each size, and the notes. */
export function concurrentPanels(
  cluster: string,
  reports: Reports,
  placements = 1,
): Pick<Outcome, 'panels' | 'notes' | 'missing'> {
  const panels = SIZES.map(
    ({ name }): Panel => ({
      title: `${name} on ${cluster}`,
      description:
        'Gbit/s of all groups together; the bytes of a message are counted once. Higher is better.',
      kind: 'lines',
      x: { label: 'members', values: MEMBERS },
      y: { label: 'Gbit/s', scale: 'linear', digits: 2 },
      series: SENDERS.map(({ name: who }) => ({
        ...line(who, MEMBERS, 2, (nodes) =>
          aggregate(reports, { size: name, senders: who, nodes }, placements),
        ),
        own: true,
      })),
    }),
  );
  return { panels, notes: [COSTS_ARE_ASSUMED], missing: [] };
}
