import { defaultChannelCosts } from '@rdmc/simulator';
import type { ThroughputTable } from '../../benchmark/hipower.js';
import type { Outcome } from '../../record/record.js';
import { Channels, simulatedChannels } from '../../simulation/channels.js';
import type { Figure } from '../figure.js';
import { FOUR_WORKERS, TWO_WORKERS, tablesWay } from './common.js';

const PEERS =
  'Microseconds for each message that a responder took, over shared memory; both axes are logarithmic. Lower is better.';

/** The largest saving of any size. */
function saving(table: ThroughputTable, side: 'requester' | 'responder'): string {
  const ratios = table.sizes.map((size) => Number(table.ratio(side, 'pull', size)));
  return `up to −${(100 * (1 - Math.min(...ratios))).toFixed(0)}%`;
}

function panelOf(table: ThroughputTable, side: 'requester' | 'responder', title: string) {
  return table.panel(side, { title, description: PEERS, unit: 'microseconds per message', digits: 2 });
}

/** Exported for tests. */
export const outcomeOf = ([gather, broadcast]: ThroughputTable[]) => ({
  panels: [
    panelOf(gather!, 'responder', 'Gather: processor time of the master'),
    panelOf(broadcast!, 'requester', 'Broadcast: processor time of the master'),
    panelOf(gather!, 'requester', 'Gather: processor time of all workers'),
    panelOf(broadcast!, 'responder', 'Broadcast: processor time of all workers'),
  ],
  facts: { gather: saving(gather!, 'responder'), broadcast: saving(broadcast!, 'requester') },
});

const BYTES = 512;
/** Twice the assumed time of a responder for a message: the saving of gather depends on it. */
const OTHER_DELIVERY = 2 * defaultChannelCosts.delivery;

/** What pull saves the master with 512 bytes, as `−79%`. */
function simulatedSaving(channels: Channels, pattern: 'gather' | 'broadcast'): string {
  const side = pattern === 'gather' ? 'responder' : 'requester';
  const of = (variant: 'pull' | 'baseline') => channels.value(pattern, side, variant, BYTES);
  return `−${(100 * (1 - of('pull') / of('baseline'))).toFixed(0)}%`;
}

/** The savings with the assumed costs, and with another one of a delivery. Exported for tests. */
export function simulatedSavings(channels: Channels): Pick<Outcome, 'facts' | 'notes'> {
  const other = new Channels({ delivery: OTHER_DELIVERY });
  const { delivery, completion, post } = defaultChannelCosts;
  const confirmed = (completion + delivery + 2 * post).toFixed(2);
  const both = (pattern: 'gather' | 'broadcast') =>
    [channels, other].map((each) => simulatedSaving(each, pattern));
  const [gather, broadcast] = [both('gather'), both('broadcast')];
  const range = ([assumed, twice]: readonly string[]) =>
    `${assumed} (${BYTES} B; ${twice} if a delivery takes ${OTHER_DELIVERY} µs)`;
  return {
    facts: { gather: range(gather), broadcast: range(broadcast) },
    notes: [
      `The savings follow from costs that are assumed: with a confirmation of each request a message costs the responder ${confirmed} ` +
        `µs (a completion of ${completion}, a delivery of ${delivery}, two posts of ${post}), with bitmaps a delivery. So the ${gather[0]} ` +
        `of gather is an input, not a result that confirms the paper’s −79%; a delivery of ${OTHER_DELIVERY} µs gives ${gather[1]}. The ` +
        `same costs give ${broadcast[0]} for broadcast, where the paper has −20%: the simulator does not explain that number.`,
    ],
  };
}

export const figure6b: Figure = {
  id: 'hipower-6b',
  paper: 'hipower',
  label: 'Figure 6b',
  title: 'Gather and broadcast: processor time of the master',
  shows: 'CPU of the master, by the size of a message.',
  facts: [
    { id: 'gather', quantity: 'gather, master', paper: 'up to −79%', origin: 'text' },
    { id: 'broadcast', quantity: 'broadcast, master', paper: '−20%', origin: 'text' },
  ],
  ways: [
    simulatedChannels('hipower-6b', (channels) => ({
      panels: [
        channels.panel('gather', 'responder', 'Gather'),
        channels.panel('broadcast', 'requester', 'Broadcast'),
      ],
      ...simulatedSavings(channels),
    })),
    tablesWay(
      ['gather', 'broadcast'],
      4,
      'Processor time of whole processes, polling included; two workers.',
      outcomeOf,
      TWO_WORKERS,
    ),
    tablesWay(
      ['gather', 'broadcast'],
      5,
      'Five processes of one host: a master and four workers.',
      outcomeOf,
      FOUR_WORKERS,
    ),
  ],
};
