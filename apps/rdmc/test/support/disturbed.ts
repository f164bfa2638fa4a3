import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { cast, type RunningReceiver, sampleFile, startReceivers } from './casting.js';
import type { Scratch } from './cli.js';

/** Size of the file of a disturbed cast. */
export const BYTES = 16_000_000;
/**
 * In bytes per second, so that a busy machine has four seconds to disturb it, and messages that come in pieces of that.
 */
const SLOW = ['--bandwidth-limit', '4MB/s'];

/** A cast that lasts long enough to be disturbed, at the moment when its receivers have stored something. */
export async function disturb(
  scratch: Scratch,
  count: number,
  args: readonly string[] = [],
  receiverArgs: readonly string[] = [],
) {
  const file = sampleFile(join(scratch.path, 'sample'), BYTES);
  const { receivers, to } = await startReceivers(scratch, count, receiverArgs);
  const sender = cast([file, '--to', to, ...SLOW, ...args]);
  await sender.event(
    'progress',
    ({ receivers: all }) => all.length === count && all.every(({ storedBytes }) => storedBytes > 0),
  );
  return { file, receivers, sender };
}

export function expectWhole(receiver: RunningReceiver, file: string): void {
  expect(receiver.left()).toEqual(['sample']);
  expect(readFileSync(join(receiver.directory, 'sample')).equals(readFileSync(file))).toBe(true);
}
