import type { Way } from '../catalogue/figure.js';
import type { Outcome } from '../record/record.js';
import { line } from '../simulation/values.js';
import { failed, jsonOf, shown } from './command.js';
import { skewPanels } from './skew.js';

const ARGS = [
  ...['tools/bench/network/run.mjs', 'slow-link', '--windows', '1/1/1,default', '--rounds', '3'],
  '--json',
];
const PIPELINE = 'binomial-pipeline';
const KINDS = [
  { id: `${PIPELINE} 1/1/1`, name: 'pipeline, windows 1/1' },
  { id: PIPELINE, name: 'pipeline, shipped windows' },
  { id: 'chain 1/1/1', name: 'chain, windows 1/1' },
  { id: 'chain', name: 'chain, shipped windows' },
] as const;
type Kind = (typeof KINDS)[number]['id'];

interface Row {
  readonly n: number;
  readonly name: string;
  /** Seconds from the first receiver to the last one, with equal links. */
  readonly skew?: number;
  /** The time with equal links, over that with one slow path. */
  readonly kept: number;
  /** Of the pipeline. */
  readonly formula?: number;
}

/** The shares that one slow path leaves. Exported for tests. @throws LabError */
export function slowLinkOutcome(rows: readonly Row[]): Outcome {
  const members = [...new Set(rows.map(({ n }) => n))];
  const row = (id: Kind, n: number) => {
    const found = rows.find((each) => each.name === id && each.n === n);
    if (found === undefined) throw failed(`the benchmark did not print ${id}, n = ${n}`);
    return found;
  };
  const most = members.at(-1);
  if (most === undefined) throw failed('the benchmark of slow links did not print a row');
  const kept = (id: Kind) => row(id, most).kept.toFixed(2);
  const formula = (n: number) => row(PIPELINE, n).formula ?? null;
  const [single, shipped, chain] = KINDS.map(({ id }) => kept(id)) as [string, string, string];
  return {
    panels: [
      {
        title: 'Share of the speed that one path of half the rate leaves',
        description: '64 MiB, links of 400 Mbit/s; the formula is lT′/(T + (l − 1)T′). Higher is better.',
        kind: 'lines',
        x: { label: 'members', values: members },
        y: { label: 'share of the speed', scale: 'linear', digits: 2 },
        series: [
          ...KINDS.map(({ id, name }) => ({
            ...line(name, members, 2, (n) => row(id, n).kept),
            own: id.startsWith(PIPELINE),
          })),
          line('the formula: at least', members, 2, formula),
        ],
      },
      ...skewPanels(
        '64 MiB, equal links of 400 Mbit/s',
        { label: 'members', values: members },
        KINDS.map(({ id, name }) => ({
          name,
          skew: (n) => row(id, n).skew ?? null,
          own: id.startsWith(PIPELINE),
        })),
      ),
    ],
    facts: {
      kept: `n = ${most}: ${single} (windows 1/1), ${shipped} (shipped); the formula: ${formula(most)?.toFixed(2) ?? '–'}`,
      chain: `n = ${most}: ${chain} (windows 1/1), ${kept('chain')} (shipped)`,
    },
    notes: [
      'Windows 1/1: one receive, which is announced, and one send at a time, as in the paper’s analysis.',
    ],
    missing: [],
  };
}

/** Real groups in network namespaces, one path of which is slow. */
export function slowLinkOnNetlab(): Way {
  return {
    id: 'netlab',
    name: 'network namespaces, windows 1/1 and shipped',
    kind: 'measured',
    how: 'Real processes in network namespaces, 64 MiB, one path at half of 400 Mbit/s; groups with both windows by turns.',
    command: shown(ARGS),
    minutes: 14,
    rivals: ['chain'],
    needsRoot: true,
    run: async (bench) =>
      slowLinkOutcome(jsonOf<{ rows: Row[] }>(await bench.command(ARGS), shown(ARGS)).rows),
  };
}
