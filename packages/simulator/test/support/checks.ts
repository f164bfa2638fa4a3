import { expect } from 'vitest';
import { type Check, describe, holds } from '../../src/validation/check.js';

/** Every check holds. */
export function expectAll(checks: readonly Check[]): void {
  expect(checks.length).toBeGreaterThan(0);
  expect(checks.filter((check) => !holds(check)).map(describe)).toEqual([]);
}
