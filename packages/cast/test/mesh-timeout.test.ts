import { expect, it } from 'vitest';
import { meshTimeoutMs } from '../src/mesh-timeout.js';

it('the members of a large cast have more time to connect, and a timer can hold it', () => {
  expect(meshTimeoutMs(10_000, 2)).toBe(10_000);
  expect(meshTimeoutMs(10_000, 16)).toBe(10_000);
  expect(meshTimeoutMs(10_000, 128)).toBe(122_000);
  expect(meshTimeoutMs(2 ** 31 - 1, 4096)).toBe(2 ** 31 - 1);
});
