import type { Mutant } from '../mutant.js';

const PACKAGE = 'packages/cast';
const LIARS = ['packages/cast/test/hostile.test.ts'];
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
];
