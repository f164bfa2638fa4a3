import type { Mutant } from '../mutant.js';

const PACKAGE = 'apps/kv';
const COPY = ['apps/kv/test/slot-copy.test.ts'];
const MODEL = ['apps/kv/test/handover-model.test.ts'];
const MACHINE = ['apps/kv/test/outgoing-machine.test.ts'];
const SNAPSHOT = ['apps/kv/test/snapshot-parts.test.ts'];
const TENURES = ['apps/kv/test/tenure.test.ts'];
const PLACEMENT = ['apps/kv/test/placement.test.ts'];
const INCOMING = ['apps/kv/test/incoming.test.ts'];

/** Slots that move between servers that run. */
export const kvHandOver: readonly Mutant[] = [
  {
    id: 'kv/floor-ignored',
    package: PACKAGE,
    function: 'Floors.isReplayed',
    find: 'version > this.#floors[slot]!',
    replace: 'this.#floors[slot]! < Number.POSITIVE_INFINITY',
    fault: 'A recovery replays entries of an earlier tenure of the same log.',
    tests: COPY,
  },
  {
    id: 'kv/epoch-not-compared',
    package: PACKAGE,
    function: 'replaced',
    find: 'present.epoch === expected',
    replace: 'true',
    fault: 'A commit of a hand-over that was cancelled succeeds.',
    tests: MODEL,
  },
  {
    id: 'kv/cancelled-without-epoch',
    package: PACKAGE,
    function: 'PlacementState.keep',
    find: "if (outcome === 'kept') for (const slot of slots) tenures[slot] = renewed(tenures[slot]!, epoch);",
    replace: '',
    fault: 'A hand-over that is cancelled may still be committed.',
    tests: TENURES,
  },
  {
    id: 'kv/dead-log-gets-slots',
    package: PACKAGE,
    function: 'PlacementState.commit',
    find: 'requireLive(records, [source, target]);',
    replace: '',
    fault: 'Slots go to a log, or from one, that is being recovered.',
    tests: TENURES,
  },
  {
    id: 'kv/takeover-of-a-part',
    package: PACKAGE,
    function: 'PlacementState.#requireLog',
    find: 'if (left.size > 0) throw gotMore(logId, left.size);',
    replace: '',
    fault: 'A takeover leaves slots out that its log got just before it was declared dead.',
    tests: TENURES,
  },
  {
    id: 'kv/unplanned-attempt-abandoned',
    package: PACKAGE,
    function: 'Attempts.run',
    find: 'current.mayHaveBrought',
    replace: 'true',
    fault: 'An heir drops slots of an attempt that a hand-over gave it.',
    tests: PLACEMENT,
  },
  {
    id: 'kv/hand-over-outlasts-takeover',
    package: PACKAGE,
    function: 'Incoming.begin',
    find: "if (this.#handOvers.get(number) !== begun) throw ended(number, 'it has ended here');",
    replace: 'this.#handOvers.set(number, begun);',
    fault: 'A hand-over of slots that a takeover gives its target begins.',
    tests: INCOMING,
  },
  {
    id: 'kv/source-resumes',
    package: PACKAGE,
    function: 'OutgoingMachine.failed',
    find: "this.current === 'copying'",
    replace: 'true',
    fault: 'A source that has stopped serves again without an answer of the coordinator.',
    tests: MACHINE,
  },
  {
    id: 'kv/unacknowledged-copied',
    package: PACKAGE,
    function: 'SlotCopy.#copy',
    find: 'entry.sequence > keyspace.acknowledged || entry.value === undefined',
    replace: 'entry.value === undefined',
    fault: 'A write that the log refuses is at the target.',
    tests: COPY,
  },
  {
    id: 'kv/undone-left-out',
    package: PACKAGE,
    function: 'SlotCopy.undone',
    find: 'this.#slots.has(slot)',
    replace: 'false',
    fault: 'A field whose overwriting was refused is not at the target.',
    tests: COPY,
  },
  {
    id: 'kv/target-keeps-leftovers',
    package: PACKAGE,
    function: 'Incoming.begin',
    find: 'await this.store.forget(ranges);',
    replace: '',
    fault: 'A target serves keys of an earlier hand-over of the slot.',
    tests: COPY,
  },
  {
    id: 'kv/snapshot-of-stopped-slots',
    package: PACKAGE,
    function: 'SnapshotService.#take',
    find: 'table.owner(slot) !== self',
    replace: 'false',
    fault: 'A source that has stopped serving a slot gives its copy to a snapshot.',
    tests: SNAPSHOT,
  },
  {
    id: 'kv/snapshot-before-a-removal',
    package: PACKAGE,
    function: 'SnapshotService.page',
    find: 'this.#addRemovals(from.slot, place.slot, filling);',
    replace: '',
    fault: 'A snapshot lacks a key whose removal the log refuses.',
    tests: SNAPSHOT,
  },
  {
    id: 'kv/refused-turn-waits',
    package: PACKAGE,
    function: 'SentAppends.send',
    find: 'this.#waiters.refused(appends[index]!.sequence, error);',
    replace: '',
    fault: 'A snapshot has a write of its turn that the log did not take.',
    tests: SNAPSHOT,
  },
];
