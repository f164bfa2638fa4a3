import type { ChildProcess, SpawnOptions } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { within } from '@rdmc/common';
import { invalidOption, NetlabError } from './errors.js';

/** The parts of a lab that it uses. */
export interface MeasuredLab {
  host(name: string): { readonly ipv4: string };
  exec(host: string, command: string, args: readonly string[], options: SpawnOptions): ChildProcess;
}

export interface Goodput {
  readonly bytes: number;
  /** From before the sender's first write to the receiver's last byte. */
  readonly seconds: number;
  /** Payload bits, not the wire's: headers are not counted. */
  readonly bitsPerSecond: number;
}

// Also works when this file runs from the sources.
const PEER = fileURLToPath(new URL('../dist/stream-peer.js', import.meta.url));

function failure(what: string, said: string): NetlabError {
  return new NetlabError('ERR_RDMC_NETLAB_TRANSFER_FAILED', `${what}: ${said.trim() || 'no reason given'}`);
}

interface Peer {
  readonly child: ChildProcess;
  /** The next line it prints. */
  next(): Promise<string>;
  /** Rejects with its last output if it fails; never resolves. */
  readonly failed: Promise<never>;
}

function startPeer(lab: MeasuredLab, host: string, what: string, args: readonly string[]): Peer {
  const child = lab.exec(host, process.execPath, [PEER, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  child.stderr!.setEncoding('utf8').on('data', (text) => {
    said += text;
  });
  const failed = new Promise<never>((_, reject) => {
    child.once('error', (error) => reject(failure(what, error.message)));
    child.once('close', (code) => {
      if (code !== 0) reject(failure(what, said));
    });
  });
  // A waiter gets the rejection; after the result is known, it is unobserved.
  failed.catch(() => {});
  const iterator = createInterface({ input: child.stdout! })[Symbol.asyncIterator]();
  const next = async () => {
    const line = await iterator.next();
    return line.done ? failed : line.value;
  };
  return { child, next, failed };
}

/** See {@link Netlab.goodput}. */
export async function measureGoodput(
  lab: MeasuredLab,
  from: string,
  to: string,
  bytes: number,
  signal?: AbortSignal,
): Promise<Goodput> {
  if (!Number.isSafeInteger(bytes) || bytes < 1)
    throw invalidOption(`bytes is ${bytes}: give an integer above 0`);
  const what = `the stream from ${from} to ${to} failed`;
  const address = lab.host(to).ipv4;
  lab.host(from);
  const receiver = startPeer(lab, to, what, ['receive', address, String(bytes)]);
  let sender: Peer | undefined;
  const measure = async (): Promise<Goodput> => {
    const port = await receiver.next();
    sender = startPeer(lab, from, what, ['send', address, port, String(bytes)]);
    const started = await Promise.race([sender.next(), receiver.failed]);
    const ended = await Promise.race([receiver.next(), sender.failed]);
    const seconds = Number(BigInt(ended) - BigInt(started)) / 1e9;
    return { bytes, seconds, bitsPerSecond: (bytes * 8) / seconds };
  };
  try {
    return await within(measure(), { signal });
  } finally {
    sender?.child.kill('SIGKILL');
    receiver.child.kill('SIGKILL');
  }
}
