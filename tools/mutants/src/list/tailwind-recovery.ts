import type { Mutant } from '../mutant.js';

const PACKAGE = 'packages/tailwind';
const DIVISION = ['packages/tailwind/test/division.test.ts'];
const PULL = ['packages/tailwind/test/pull.test.ts'];
const ATTEMPTS = ['packages/tailwind/test/recovery-attempts.test.ts'];

/** Recoveries that several heirs share. */
export const tailwindRecovery: readonly Mutant[] = [
  {
    id: 'tailwind/divided-in-order',
    package: PACKAGE,
    function: 'divide',
    find: 'cursors[part]! += end - at;',
    replace: '',
    fault: 'The entries of a part are written over each other.',
    tests: DIVISION,
  },
  {
    id: 'tailwind/attempts-mix',
    package: PACKAGE,
    function: 'RecoveryAttempts.admit',
    find: 'last?.attempt === attempt',
    replace: 'last',
    fault: 'A backup serves heirs of another attempt.',
    tests: ATTEMPTS,
  },
  {
    id: 'tailwind/former-inventory',
    package: PACKAGE,
    function: 'RecoveryAttempts.begin',
    find: 'last.attempt > attempt',
    replace: 'false',
    fault: 'A late inventory takes a backup back to an earlier attempt.',
    tests: ATTEMPTS,
  },
  {
    id: 'tailwind/served-unplanned',
    package: PACKAGE,
    function: 'hasPrefix',
    find: "scan.status === 'ok' && scan.offset === byteLength && scan.checksum === checksum",
    replace: 'scan.offset >= 0',
    fault: 'A backup serves a replica that is not the planned one.',
    tests: ATTEMPTS,
  },
  {
    id: 'tailwind/pull-without-all',
    package: PACKAGE,
    function: 'PullMachine.arrived',
    find: "attempt !== this.attempt || wanted?.state !== 'asked'",
    replace: "wanted?.state !== 'asked'",
    fault: 'An heir counts what arrives for another attempt.',
    tests: ATTEMPTS,
  },
  {
    id: 'tailwind/scan-for-each-heir',
    package: PACKAGE,
    function: 'Divisions.#segment',
    find: 'if (known) return known.parts;',
    replace: '',
    fault: 'A segment is scanned for each heir.',
    tests: PULL,
  },
];
