import type { Mutant } from '../mutant.js';

const COMMON = 'packages/common';
const MESH = 'packages/mesh';
const TAILWIND = 'packages/tailwind';
const KV = 'apps/kv';
const LEVELS = ['packages/common/test/levels.test.ts'];
const HELLO = ['packages/mesh/test/hello-check.test.ts'];
const JOINERS = ['packages/mesh/test/live-refusals.test.ts'];
const FILES = ['packages/tailwind/test/file-store.test.ts'];
const REPLICAS = ['packages/tailwind/test/replica-store.test.ts'];
const KEEPER = ['apps/kv/test/levels.test.ts'];

/** The levels by which two releases are in one cluster. */
export const levels: readonly Mutant[] = [
  {
    id: 'common/level-of-the-newer-end',
    package: COMMON,
    function: 'commonLevel',
    find: 'Math.min(one.most, other.most)',
    replace: 'Math.max(one.most, other.most)',
    fault: 'A connection has a level that one end does not speak.',
    tests: LEVELS,
  },
  {
    id: 'common/no-common-level',
    package: COMMON,
    function: 'commonLevel',
    find: 'level >= Math.max(one.least, other.least)',
    replace: 'true',
    fault: 'Ends without a common level have one.',
    tests: LEVELS,
  },
  {
    id: 'mesh/levels-not-checked',
    package: MESH,
    function: 'checkLevels',
    find: 'commonLevel(levels, own.levels) !== undefined',
    replace: 'true',
    fault: 'Members without a common level are connected.',
    tests: HELLO,
  },
  {
    id: 'mesh/levels-of-a-joiner-not-checked',
    package: MESH,
    function: 'checkLiveHello',
    find: 'foreign !== undefined',
    replace: 'false',
    fault: 'A process that comes later is admitted without a common level.',
    tests: JOINERS,
  },
  {
    id: 'tailwind/state-of-any-level',
    package: TAILWIND,
    function: 'requireLevel',
    find: 'speaks(levels, level)',
    replace: 'true',
    fault: 'A coordinator of a former release acts on a state that it does not understand.',
    tests: FILES,
  },
  {
    id: 'tailwind/level-falls',
    package: TAILWIND,
    function: 'SerialStore.raiseLevel',
    find: 'level > this.level',
    replace: 'true',
    fault: 'A finalized upgrade is undone.',
    tests: FILES,
  },
  {
    id: 'tailwind/level-not-kept',
    package: TAILWIND,
    function: 'FileStore.change',
    find: 'encode(this.level, next, changed)',
    replace: 'encode(1, next, changed)',
    fault: 'The first change after an upgrade was finalized undoes that.',
    tests: FILES,
  },
  {
    id: 'tailwind/replica-of-a-higher-level',
    package: TAILWIND,
    function: 'decodeReplicaHeader',
    find: 'version < FIRST_LEVEL || version > most',
    replace: 'version < FIRST_LEVEL',
    fault: 'A file of a later release is read as one of this release.',
    tests: REPLICAS,
  },
  {
    id: 'tailwind/replica-in-the-first-format',
    package: TAILWIND,
    function: 'ReplicaStore.write',
    find: 'encodeReplicaHeader(this.clusterId, record, this.level)',
    replace: 'encodeReplicaHeader(this.clusterId, record, 1)',
    fault: 'A file of a higher level says that a former release can read it.',
    tests: REPLICAS,
  },
  {
    id: 'kv/admits-any-level',
    package: KV,
    function: 'LevelKeeper.#admit',
    find: 'requireLevel(memberName(from), levels, store.level)',
    replace: 'void requireLevel',
    fault: 'A process that does not speak the level of the cluster is admitted.',
    tests: KEEPER,
  },
  {
    id: 'kv/finalized-with-former-release',
    package: KV,
    function: 'LevelKeeper.#finalize',
    find: 'obstacles.length > 0',
    replace: 'false',
    fault: 'The level is raised while a member does not speak it.',
    tests: KEEPER,
  },
  {
    id: 'kv/finalized-without-a-server',
    package: KV,
    function: 'LevelKeeper.#members',
    find: "state === 'connected' || (state === 'failed' && isServer(id))",
    replace: "state === 'connected'",
    fault: 'The level is raised while a server is away whose release is not known.',
    tests: KEEPER,
  },
  {
    id: 'kv/finalized-without-the-owner-of-a-log',
    package: KV,
    function: 'LevelKeeper.#members',
    find: 'new Set(owners)',
    replace: 'new Set<number>()',
    fault: 'A server that this coordinator has never seen is not waited for.',
    tests: KEEPER,
  },
  {
    id: 'kv/level-told-before-it-is-durable',
    package: KV,
    function: 'LevelKeeper.#finalize',
    find: 'await store.raiseLevel(level);',
    replace: 'void store.raiseLevel(level);',
    fault: 'Servers write formats of a level that the next coordinator does not know.',
    tests: KEEPER,
  },
  {
    id: 'kv/level-goes-down',
    package: KV,
    function: 'ClusterLevel.#learn',
    find: 'level <= this.level',
    replace: 'level === this.level',
    fault: 'A server takes up a level that was passed.',
    tests: KEEPER,
  },
  {
    id: 'kv/next-coordinator-not-asked',
    package: KV,
    function: 'ClusterLevel.constructor',
    find: 'void this.#ask()',
    replace: 'undefined',
    fault: 'A server that was cut off while an upgrade was finalized does not learn of it.',
    tests: KEEPER,
  },
  {
    id: 'kv/raised-level-refused',
    package: KV,
    function: 'LevelKeeper.#finalize',
    find: 'level === before',
    replace: 'false',
    fault: 'An operator who repeats an order whose answer was lost hears that the level was not raised.',
    tests: KEEPER,
  },
];
