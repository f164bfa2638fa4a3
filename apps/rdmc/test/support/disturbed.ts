import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { cast, type RunningReceiver, sampleFile, startReceivers } from './casting.js';
import type { Scratch } from './cli.js';
import { receiversHere } from './here.js';

interface DisturbOptions {
  /** Receivers in this process. */
  readonly others?: number;
  /** Further arguments of the sender, and of the receivers that are processes. */
  readonly args?: readonly string[];
  readonly receiverArgs?: readonly string[];
}

/** Size of the file of a disturbed cast. */
export const BYTES = 16_000_000;
/**
 * In bytes per second, so that a busy machine has four seconds to disturb it, and messages that come in pieces of that.
 */
const SLOW = ['--bandwidth-limit', '4MB/s'];

/** A cast that lasts long enough to be disturbed, at the moment when its receivers have stored something. */
async function disturbable(scratch: Scratch, to: string, count: number, args: readonly string[]) {
  const file = sampleFile(join(scratch.path, 'sample'), BYTES);
  const sender = cast([file, '--to', to, ...SLOW, ...args]);
  await sender.event(
    'progress',
    ({ receivers: all }) => all.length === count && all.every(({ storedBytes }) => storedBytes > 0),
  );
  return { file, sender };
}

/** Such a cast to `count` receivers that are processes, and to `others` in this process, which come after them. */
export async function disturb(
  scratch: Scratch,
  count: number,
  { others = 0, args = [], receiverArgs = [] }: DisturbOptions = {},
) {
  const { receivers, to } = await startReceivers(scratch, count, receiverArgs);
  const beside = await receiversHere(scratch, others, 'beside');
  const names = [to, beside.to].filter((each) => each !== '').join(',');
  const disturbed = await disturbable(scratch, names, count + others, args);
  return { ...disturbed, receivers, others: beside.receivers };
}

export function expectWhole(receiver: Pick<RunningReceiver, 'directory' | 'left'>, file: string): void {
  expect(receiver.left()).toEqual(['sample']);
  expect(readFileSync(join(receiver.directory, 'sample')).equals(readFileSync(file))).toBe(true);
}
