import { expect, it } from 'vitest';
import { digestOf, failureDigest } from '../digest.mjs';

/** What Vitest prints: a coloured list, then each failure with its reason. */
const VITEST = `
 \u001b[31m❯\u001b[39m test/a.test.ts (3 tests | 2 failed) 58ms
     \u001b[31m×\u001b[39m fails 5ms

⎯⎯⎯⎯⎯⎯ Failed Suites 1 ⎯⎯⎯⎯⎯⎯

\u001b[41m\u001b[1m FAIL \u001b[22m\u001b[49m test/b.test.ts\u001b[2m [ test/b.test.ts ]\u001b[22m
\u001b[31m\u001b[1mError\u001b[22m: x\u001b[39m

⎯⎯⎯⎯⎯⎯⎯ Failed Tests 2 ⎯⎯⎯⎯⎯⎯⎯

\u001b[41m\u001b[1m FAIL \u001b[22m\u001b[49m test/a.test.ts\u001b[2m > \u001b[22ma cast\u001b[2m > \u001b[22mfails
AssertionError: expected 1 to be 2 // Object.is equality

 FAIL  test/a.test.ts > a cast > is late
Error: Test timed out in 50ms.

⎯⎯⎯⎯⎯⎯ Unhandled Errors ⎯⎯⎯⎯⎯⎯

Vitest caught 1 unhandled error during the test run.

⎯⎯⎯⎯ Unhandled Rejection ⎯⎯⎯⎯⎯
Error: stray
 ❯ test/a.test.ts:2:107

 Test Files  2 failed (2)

To repeat:
(cd packages/a && npx vitest run test/a.test.ts -t '^a cast fails$')

npx vitest run (in packages/a) ended with 1`;

it('names the failed tests and files of Vitest, and errors outside of them', () => {
  expect(digestOf(VITEST)).toEqual([
    'test/b.test.ts [ test/b.test.ts ]',
    'test/a.test.ts > a cast > fails',
    'test/a.test.ts > a cast > is late',
    'Unhandled Rejection: Error: stray',
  ]);
});

it('has the last lines of other output', () => {
  expect(digestOf('1\n2\n\n3\n4\n\u001b[31m5\u001b[39m\n\n6\n')).toEqual(['2', '3', '4', '5', '6']);
  expect(digestOf('')).toEqual([]);
});

it('is the end of a run: each failed part with its failures', () => {
  const failures = [
    { label: 'packages/a', output: VITEST },
    { label: 'lint and format', output: 'a line is too long' },
  ];
  expect(failureDigest(failures).split('\n').slice(1)).toEqual([
    '── packages/a',
    '   test/b.test.ts [ test/b.test.ts ]',
    '   test/a.test.ts > a cast > fails',
    '   test/a.test.ts > a cast > is late',
    '   Unhandled Rejection: Error: stray',
    '── lint and format',
    '   a line is too long',
  ]);
});
