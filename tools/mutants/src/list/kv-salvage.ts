import type { Mutant } from '../mutant.js';

const PACKAGE = 'apps/kv';
const SALVAGE = ['apps/kv/test/salvage.test.ts'];

/** What `kv salvage` refuses, and what it may not give up. */
export const kvSalvage: readonly Mutant[] = [
  {
    id: 'kv/salvage-unlocked',
    package: PACKAGE,
    function: 'salvage',
    find: 'for (const { directory } of places) locks.push(await lockReplicaDirectory(directory));',
    replace: '',
    fault: 'A server writes the files that are read.',
    tests: SALVAGE,
  },
  {
    id: 'kv/salvage-without-files',
    package: PACKAGE,
    function: 'salvageLocked',
    find: "if (outcome === 'accepted') requireNoneAbsent(absent);",
    replace: '',
    fault: 'Entries are given up that a directory which is not there may have.',
    tests: SALVAGE,
  },
  {
    id: 'kv/salvage-without-any-files',
    package: PACKAGE,
    function: 'absentServers',
    find: '!without.includes(server)',
    replace: 'false',
    fault: 'Entries are given up although no server was said to be lost.',
    tests: SALVAGE,
  },
  {
    id: 'kv/salvage-before-the-report',
    package: PACKAGE,
    function: 'salvageLocked',
    find: 'const logs: SalvageLog[] = [];',
    replace: "if (outcome === 'accepted') await acceptAll(store, surveyed); const logs: SalvageLog[] = [];",
    fault: 'What cannot be reported is given up.',
    tests: SALVAGE,
  },
  {
    id: 'kv/salvage-not-asked',
    package: PACKAGE,
    function: 'outcomeOf',
    find: "if (acceptsLoss) return 'accepted';",
    replace: "return 'accepted';",
    fault: 'A report gives up what is missing.',
    tests: SALVAGE,
  },
  {
    id: 'kv/salvage-once',
    package: PACKAGE,
    function: 'acceptAll',
    find: '!survey.isComplete || wasAccepted(log)',
    replace: '!survey.isComplete',
    fault: 'Of a log whose loss was accepted, files that were found later do not count.',
    tests: SALVAGE,
  },
  {
    id: 'kv/salvage-of-links',
    package: PACKAGE,
    function: 'findServers',
    find: 'realpathSync(directory)',
    replace: 'directory',
    fault: 'A directory that is named twice counts as two.',
    tests: SALVAGE,
  },
];
