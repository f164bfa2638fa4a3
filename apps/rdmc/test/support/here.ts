// Senders and receivers in the process of the test. A process of its own takes a quarter of a second of a processor, so only
// tests about processes start one: about signals, kills, standard streams, and the order of what a command prints.
import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type FileReceiver, type ReceiveOptions, receiveFiles } from '@rdmc/cast';
import { onTestFinished } from 'vitest';
import { withoutKept } from './casting.js';
import { type Answered, answer, type Scratch } from './cli.js';

/** `rdmc cast … --json` in this process. */
export function castHere(...args: readonly string[]): Promise<Answered> {
  return answer('cast', ...args, '--json');
}

/** The first cast that fails at this receiver; undefined if the receiver is closed before. */
async function failureAt(receiver: FileReceiver) {
  for await (const event of receiver) if (event.type === 'failed') return event;
  return undefined;
}

/** A receiver in this process, with its name for `--to`. It closes with the test. */
export async function receiverHere(directory: string, options: Partial<ReceiveOptions> = {}) {
  mkdirSync(directory, { recursive: true });
  const receiver = await receiveFiles({ directory, host: '127.0.0.1', port: 0, ...options });
  onTestFinished(() => receiver.close());
  const { port } = receiver.address;
  /** Names in its directory, hidden ones included. */
  const left = (): string[] => readdirSync(directory).sort();
  /** Names in its directory, without what an interrupted cast has left. */
  const visible = (): string[] => withoutKept(left());
  return { directory, port, name: `127.0.0.1:${port}`, left, visible, failed: failureAt(receiver) };
}

/** `count` such receivers with the directories r1, r2, …, and their names for `--to`. */
export async function receiversHere(scratch: Scratch, count: number, prefix = 'r') {
  const directories = Array.from({ length: count }, (_, i) => join(scratch.path, `${prefix}${i + 1}`));
  const receivers = await Promise.all(directories.map((directory) => receiverHere(directory)));
  return { receivers, to: receivers.map(({ name }) => name).join(',') };
}
