import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { PYTHON } from '@rdmc/testing';
import { onTestFinished } from 'vitest';

const SCRIPT = fileURLToPath(new URL('../fixtures/local-peer.py', import.meta.url));

export type Said = Record<string, unknown>;

/** A process that uses the Unix-socket protocol of the soft device as instructed: fixtures/local-peer.py. */
export class LocalPeer {
  readonly #process: ChildProcessWithoutNullStreams;
  readonly #lines: AsyncIterator<string>;
  #errors = '';

  constructor(mode: 'dial' | 'listen', options: Said) {
    this.#process = spawn(PYTHON, [SCRIPT, mode, JSON.stringify(options)]);
    this.#process.stderr.on('data', (text) => {
      this.#errors += text;
    });
    this.#process.stdin.on('error', () => undefined);
    this.#lines = createInterface({ input: this.#process.stdout })[Symbol.asyncIterator]();
    onTestFinished(() => this.end());
  }

  /** Its next message. */
  async next(): Promise<Said> {
    const { value, done } = await this.#lines.next();
    if (done) throw new Error(`the local peer said nothing more: ${this.#errors}`);
    return JSON.parse(value) as Said;
  }

  /** Its messages until it ends. */
  async rest(): Promise<Said[]> {
    const all: Said[] = [];
    for (;;) {
      const { value, done } = await this.#lines.next();
      if (done) {
        if (this.#errors) throw new Error(this.#errors);
        return all;
      }
      all.push(JSON.parse(value) as Said);
    }
  }

  /** Writes 32-bit words into the control segment it has mapped. */
  async write(...words: readonly (readonly [offset: number, value: number])[]): Promise<void> {
    await this.order({ write: words });
  }

  /** One message to the device's service thread: its type and its numbers, as native/soft/shm/link_message.h draws them. */
  async send(...message: readonly number[]): Promise<void> {
    await this.order({ send: message });
  }

  /** Sends it a command; returns its answer. */
  order(what: Said): Promise<Said> {
    this.#process.stdin.write(`${JSON.stringify(what)}\n`);
    return this.next();
  }

  async end(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    this.#process.kill('SIGKILL');
    await once(this.#process, 'close');
  }
}

/** Offsets in a control segment: native/soft/control_segment.h. */
export const Control = {
  LIVENESS: 64,
  COMPLETION_QUEUES: 2 << 20,
  COMPLETION_QUEUE_BYTES: 4096,
  /** Within a completion queue's page. */
  READY: 64,
  QUEUE_PAIRS: 4 << 20,
  QUEUE_PAIR_BYTES: 128 << 10,
  /** Within a queue pair's page. */
  STATE: 0,
  RECEIVE_DEPTH: 12,
  RECEIVES_POSTED: 64,
  BUSY: 128,
  BUSY_REGION: 132,
  PRODUCED: 136,
  INBOUND: 96 << 10,
} as const;

/** Types of messages: native/soft/shm/link_message.h. */
export const LinkMessage = { PEER_ERROR: 8 } as const;

export function queuePairPage(number: number): number {
  return Control.QUEUE_PAIRS + (number & 8191) * Control.QUEUE_PAIR_BYTES;
}

/** The word of a completion queue that marks a queue pair with completions: without it nothing is polled. */
export function readyBit(queue: number, queuePair: number): [offset: number, value: number] {
  const index = queuePair & 8191;
  const page = Control.COMPLETION_QUEUES + queue * Control.COMPLETION_QUEUE_BYTES;
  return [page + Control.READY + (index >> 5) * 4, 2 ** (index & 31)];
}
