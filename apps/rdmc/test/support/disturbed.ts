import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { cast, type RunningReceiver, sampleFile, startReceivers } from './casting.js';
import type { Scratch } from './cli.js';
import { receiversHere } from './here.js';

interface DisturbOptions {
  /** Bandwidth: a lower one than `FASTER` where nothing is sent after the disturbance. */
  readonly rate?: string;
  /** Receivers in this process. */
  readonly others?: number;
  /** Further arguments of the sender, and of the receivers that are processes. */
  readonly args?: readonly string[];
  readonly receiverArgs?: readonly string[];
}

/** Size of the file of a disturbed cast. */
export const BYTES = 16_000_000;
/** A busy machine has half a minute to disturb the cast. */
const SLOW = '500KB/s';
/** It has eight seconds, and so long takes the rest of the cast. */
export const FASTER = '2MB/s';

/** A cast that lasts long enough to be disturbed, at the moment when its receivers have stored something. */
async function disturbable(scratch: Scratch, to: string, count: number, args: readonly string[]) {
  const file = sampleFile(join(scratch.path, 'sample'), BYTES);
  const sender = cast([file, '--to', to, ...args]);
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
  { rate = SLOW, others = 0, args = [], receiverArgs = [] }: DisturbOptions = {},
) {
  const { receivers, to } = await startReceivers(scratch, count, receiverArgs);
  const beside = await receiversHere(scratch, others, 'beside');
  const names = [to, beside.to].filter((each) => each !== '').join(',');
  const limited = ['--bandwidth-limit', rate, ...args];
  const disturbed = await disturbable(scratch, names, count + others, limited);
  return { ...disturbed, receivers, others: beside.receivers };
}

export function expectWhole(receiver: Pick<RunningReceiver, 'directory' | 'left'>, file: string): void {
  expect(receiver.left()).toEqual(['sample']);
  expect(readFileSync(join(receiver.directory, 'sample')).equals(readFileSync(file))).toBe(true);
}
