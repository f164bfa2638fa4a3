import type { Mutant } from '../mutant.js';

const PACKAGE = 'packages/cast';
const LIARS = ['packages/cast/test/hostile.test.ts'];
const MISSING = ['packages/cast/test/compare.test.ts'];
const DURABLE = ['packages/cast/test/durability.test.ts'];

/** Files: what is durable, and what a receiver may say. */
export const cast: readonly Mutant[] = [
  {
    id: 'cast/receives-less',
    package: PACKAGE,
    function: 'ReceiverLink.#checkReceived',
    find: 'receivedMessages < this.progress.receivedMessages',
    replace: 'false',
    fault: 'A receiver that takes back what it had makes others lose files.',
    tests: LIARS,
  },
  {
    id: 'cast/receives-more',
    package: PACKAGE,
    function: 'ReceiverLink.#checkReceived',
    find: 'receivedMessages > this.madeMessages',
    replace: 'false',
    fault: 'A receiver may say that it has more than was sent.',
    tests: LIARS,
  },
  {
    id: 'cast/stores-less',
    package: PACKAGE,
    function: 'ReceiverLink.#checkProgress',
    find: 'storedMessages < this.progress.storedMessages || storedMessages > receivedMessages',
    replace: 'storedMessages > receivedMessages',
    fault: 'A receiver may take back what it stored.',
    tests: LIARS,
  },
  {
    id: 'cast/names-before-sync',
    package: PACKAGE,
    function: 'SyncQueue.file',
    find: 'const settled = synced.catch((error: unknown) => { item.finish = () => fail(error); });',
    replace: 'const settled = Promise.resolve(); void synced.catch(() => {});',
    fault: 'A file has its name before it is on the disk.',
    tests: DURABLE,
  },
  {
    id: 'cast/unsynced-unbounded',
    package: PACKAGE,
    function: 'SyncQueue.#mustWait',
    find: 'this.#items.length > MAX_UNSYNCED_FILES / 2 || this.#isAhead',
    replace: 'this.#isAhead',
    fault: 'Any number of files wait for the disk.',
    tests: DURABLE,
  },
  {
    id: 'cast/complete-before-names',
    package: PACKAGE,
    function: 'SyncQueue.drained',
    find: 'while (this.#items.length > 0 && !this.#failure) await this.#progress();',
    replace: '',
    fault: 'A cast is complete before its files have their names.',
    tests: DURABLE,
  },
  {
    id: 'cast/ahead-of-disk',
    package: PACKAGE,
    function: 'SyncQueue.written',
    find: 'if (sink.unsyncedBytes >= MAX_UNSYNCED_BYTES) this.#ahead = sink;',
    replace: '',
    fault: 'A large file is written any distance ahead of a slow disk.',
    tests: ['packages/cast/test/sync-queue.test.ts'],
  },
  {
    id: 'cast/sends-what-changed-since',
    package: PACKAGE,
    function: 'StreamReader.#checkCompared',
    find: 'this.#selection?.[index] !== Selected.UNCHANGED',
    replace: 'true',
    fault: 'Receivers have different files after a file changed between the comparison and the sending.',
    tests: MISSING,
  },
  {
    id: 'cast/removes-after-problems',
    package: PACKAGE,
    function: 'StreamWriter.lastSteps',
    find: 'remove && this.#outcomes.problems.count === 0',
    replace: 'remove',
    fault: 'Surplus entries are removed although an entry could not be stored.',
    tests: MISSING,
  },
  {
    id: 'cast/removes-excluded',
    package: PACKAGE,
    function: 'Removal.#removeIn',
    find: 'isTemporary(name) || this.filter.excludes(path, stats.isDirectory())',
    replace: 'isTemporary(name)',
    fault: 'Excluded entries in a surplus directory are removed.',
    tests: MISSING,
  },
  {
    id: 'cast/changes-other-names',
    package: PACKAGE,
    function: 'ExistingFile.setAttributes',
    find: 'stats.nlink !== 1n',
    replace: 'false',
    fault: 'A file outside of the receiving directory gets another mode through a hard link.',
    tests: MISSING,
  },
];
