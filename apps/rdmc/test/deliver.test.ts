import { EventEmitter } from 'node:events';
import { describe, expect, it } from 'vitest';
import { type Delivery, deliver } from '../src/demo/deliver.js';
import type { DemoEvent } from '../src/demo/events.js';
import { ExitCode } from '../src/exit-codes.js';

const SENT = 'a'.repeat(64);
const OTHER = 'b'.repeat(64);

/** A receiver that has everything at once and writes nothing. */
class FakeReceiver extends EventEmitter {
  constructor(readonly id: number) {
    super();
  }

  onReport(): void {}
  command(): void {}

  next(type: string): Promise<unknown> {
    const reports: Record<string, unknown> = {
      received: { type: 'received', at: String(process.hrtime.bigint()) },
      stored: { type: 'stored', path: `file ${this.id}` },
    };
    return Promise.resolve(reports[type]);
  }
}

function delivery(hashes: Record<string, string>, events: DemoEvent[]): Delivery {
  const view = { stop() {}, received() {}, hashing() {}, verified() {} };
  const cluster = {
    receivers: [1, 2, 3].map((id) => new FakeReceiver(id)),
    guard: (work: Promise<unknown>) => work,
    multicast: () => Promise.resolve(0.1),
  };
  return {
    cluster,
    view,
    group: { id: 0 },
    byteLength: 10,
    sha256: Promise.resolve(SENT),
    folder: '/nowhere',
    pool: { sha256: (path: string) => Promise.resolve(hashes[path] ?? SENT) },
    signal: new AbortController().signal,
    emit: (event: DemoEvent) => events.push(event),
  } as unknown as Delivery;
}

describe('verification', () => {
  it('resolves when every hash is the sender’s', async () => {
    const events: DemoEvent[] = [];
    await deliver(delivery({}, events));
    const verified = events.filter(({ event }) => event === 'verified');
    expect(verified.map((event) => 'ok' in event && event.ok)).toEqual([true, true, true]);
  });

  it('ends with exit code 3 and names whose file differs', async () => {
    const events: DemoEvent[] = [];
    await expect(deliver(delivery({ 'file 2': OTHER }, events))).rejects.toMatchObject({
      code: 'ERR_RDMC_VERIFY_FAILED',
      exitCode: ExitCode.VERIFICATION_FAILED,
      message: "the file of member 2 has another SHA-256 than the sender's",
    });
    expect(events).toContainEqual({ event: 'verified', member: 2, path: 'file 2', sha256: OTHER, ok: false });
  });
});
