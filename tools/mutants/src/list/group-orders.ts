import type { Mutant } from '../mutant.js';

const PACKAGE = 'packages/group';
const STABLE = ['packages/group/test/stable-model.test.ts', 'packages/group/test/stable-table.test.ts'];
const MANY = ['packages/group/test/many-order.test.ts', 'packages/group/test/many-model.test.ts'];

/** Stable delivery, and the order of many senders. */
export const groupOrders: readonly Mutant[] = [
  {
    id: 'group/stable-trim-maximum',
    package: PACKAGE,
    function: 'SurvivorRules.trimOf',
    find: 'perSender(survivors, Math.min)',
    replace: 'perSender(survivors, Math.max)',
    fault: 'A leader takes as trim what any survivor has.',
    tests: STABLE,
  },
  {
    id: 'group/stable-torn-row',
    package: PACKAGE,
    function: 'readState',
    find: 'checkOf(state) !== words[layout.check]',
    replace: 'false',
    fault: 'A row is read while it is written.',
    tests: STABLE,
  },
  {
    id: 'group/many-order-of-arrival',
    package: PACKAGE,
    function: 'TotalRules.next',
    find: 'heads[sender]! < heads[first]!',
    replace: 'false',
    fault: 'The first sender is the next one, whatever the round.',
    tests: MANY,
  },
  {
    id: 'group/many-idle-holds-up',
    package: PACKAGE,
    function: 'TotalRules.owed',
    find: 'sender > own ? ends[sender]! : ends[sender]! - 1',
    replace: 'ends[sender]! - 1',
    fault: 'An idle sender does not skip the number in front of the message of a later sender.',
    tests: MANY,
  },
  {
    id: 'group/many-number-unchecked',
    package: PACKAGE,
    function: 'SenderCounts.#check',
    find: 'number === next >>> 0',
    replace: 'true',
    fault: 'A number out of sequence is taken.',
    tests: MANY,
  },
  {
    id: 'group/many-trim-ignored',
    package: PACKAGE,
    function: 'SenderQueues.trim',
    find: 'message.number < count',
    replace: 'true',
    fault: 'A survivor delivers messages that others do not have.',
    tests: MANY,
  },
  {
    id: 'group/ring-unread-behind-large',
    package: PACKAGE,
    function: 'Reception.#push',
    find: 'this.look()',
    replace: '',
    fault: 'With stable delivery, small messages behind a large one wait for the application.',
    tests: ['packages/group/test/reception.test.ts'],
  },
  {
    id: 'group/stable-counts-unwatched',
    package: PACKAGE,
    function: 'TableSide.look',
    find: 'hasState ? this.#limitMs : this.#limitMs + WATCH_COUNTS_MS',
    replace: 'hasState ? this.#limitMs : Number.POSITIVE_INFINITY',
    fault: 'Where a device loses a WRITE of counts, members deliver nothing further, and nobody knows.',
    tests: ['packages/group/test/table-side.test.ts'],
  },
];
