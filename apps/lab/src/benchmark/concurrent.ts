import type { Way } from '../catalogue/figure.js';
import type { Outcome, Panel } from '../record/record.js';
import { failed, jsonOf, shown } from './command.js';
import { skewPanels } from './skew.js';

const RATE_MBIT = 100;
const MEMBERS = [3, 4, 8, 16];
const SIZES = [16, 1];
const argsOf = (oversubscribed: boolean) => [
  ...['tools/bench/network/run.mjs', 'concurrent', '--members', MEMBERS.join(), '--mib', SIZES.join()],
  ...['--rate', `${RATE_MBIT}mbit`, '--rounds', '3', '--algorithm', 'binomial-pipeline'],
  ...(oversubscribed ? ['--oversubscribed'] : []),
  '--json',
];
const SENDERS = [
  { name: 'all send', of: (n: number) => n },
  { name: 'half of them send', of: (n: number) => Math.ceil(n / 2) },
  { name: 'one sends', of: () => 1 },
] as const;

interface Row {
  readonly MiB: number;
  readonly n: number;
  readonly senders: number;
  readonly 'Mbit/s of messages': number;
  /** Seconds from the first receiver of a message to the last one. */
  readonly skew?: number;
}

const PLACED =
  'Members have ranks at random, three times with a seed each, so that a schedule crosses the racks as often as on hosts that a batch ' +
  'system has chosen.';

function ratesPanel(mib: number, rate: (mib: number, n: number, senders: number) => number): Panel {
  return {
    title: `${mib} MiB, real members on links of ${RATE_MBIT} Mbit/s`,
    description: 'Mbit/s of all groups together; the bytes of a message are counted once. Higher is better.',
    kind: 'lines',
    x: { label: 'members', values: MEMBERS },
    y: { label: 'Mbit/s', scale: 'linear', digits: 1 },
    series: SENDERS.map(({ name, of }) => ({
      name,
      values: MEMBERS.map((n) => rate(mib, n, of(n))),
      own: true,
    })),
  };
}

/** Panels for each size, and the rates of 16 members that send 16 MiB. Exported for tests. @throws LabError */
export function concurrentOutcome(rows: readonly Row[], notes: readonly string[] = []): Outcome {
  const row = (mib: number, n: number, senders: number) => {
    const found = rows.find((each) => each.MiB === mib && each.n === n && each.senders === senders);
    if (found === undefined) throw failed(`the benchmark did not print ${mib} MiB, ${senders} of ${n}`);
    return found;
  };
  const rate = (mib: number, n: number, senders: number) => row(mib, n, senders)['Mbit/s of messages'];
  const large = SIZES[0]!;
  const skews = (mib: number) =>
    skewPanels(
      `${mib} MiB, links of ${RATE_MBIT} Mbit/s`,
      { label: 'members', values: MEMBERS },
      SENDERS.map(({ name, of }) => ({ name, skew: (n) => row(mib, n, of(n)).skew ?? null, own: true })),
    );
  return {
    panels: [...SIZES.map((mib) => ratesPanel(mib, rate)), ...SIZES.flatMap(skews)],
    facts: {
      all: `${MEMBERS.map((n) => rate(large, n, n).toFixed(0)).join(' / ')} of ${RATE_MBIT} Mbit/s`,
      one: `${rate(large, 16, 1).toFixed(0)} of ${RATE_MBIT} Mbit/s`,
    },
    notes: [...notes],
    missing: [],
  };
}

/** Real groups in network namespaces, also behind oversubscribed uplinks. */
export function concurrentOnNetlab(oversubscribed: boolean): Way {
  const args = argsOf(oversubscribed);
  const racks = oversubscribed ? ', in two racks whose uplinks leave 16/56 of the rate for each host' : '';
  return {
    id: 'netlab',
    name: 'network namespaces, 100 Mbit/s',
    kind: 'measured',
    how: `Real processes in network namespaces with links of ${RATE_MBIT} Mbit/s${racks}.`,
    command: shown(args),
    minutes: oversubscribed ? 14 : 6,
    rivals: [],
    needsRoot: true,
    run: async (bench) =>
      concurrentOutcome(
        jsonOf<{ rows: Row[] }>(await bench.command(args), shown(args)).rows,
        oversubscribed ? [PLACED] : [],
      ),
  };
}
