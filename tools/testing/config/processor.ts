// Run before each test file with RDMC_TEST_CPU=FILE: adds a line to FILE for each test, and for what a file took outside of its tests:
// processor seconds of this process, its threads, and its children that ended. Tests of one file that run at once count twice.
import { appendFileSync, readFileSync } from 'node:fs';
import { afterAll, afterEach, beforeEach, expect } from 'vitest';

const file = process.env.RDMC_TEST_CPU!;
/** Ticks of user and system time, of the process and of its children, in /proc/self/stat after the name. */
const TICKS = [11, 12, 13, 14];

function used(): number {
  const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1]!.split(' ');
  return TICKS.reduce((sum, index) => sum + Number(fields[index]), 0) / 100;
}

const beforeFile = used();
let beforeTest = beforeFile;
let ofTests = 0;

function note(seconds: number, name: string): void {
  appendFileSync(file, `${seconds.toFixed(2)}\t${expect.getState().testPath}\t${name}\n`);
}

beforeEach(() => {
  beforeTest = used();
});
afterEach(() => {
  const seconds = used() - beforeTest;
  ofTests += seconds;
  note(seconds, expect.getState().currentTestName ?? '');
});
afterAll(() => {
  const seconds = used() - beforeFile;
  note(seconds - ofTests, '(outside of tests)');
  note(seconds, '(file)');
});
