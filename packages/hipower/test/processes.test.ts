import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Progress } from '@rdmc/hipower';
import { reserveLoopbackPorts } from '@rdmc/mesh/loopback';
import { freed, PATIENT, temporaryDirectory } from '@rdmc/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import { Child } from './support/child.js';
import { deviceOver, TRANSPORTS } from './support/cluster.js';

const KINDS = [{ mode: 'pull' }, { mode: 'push' }, { confirmation: 'per-request' }];
/** Every kind over the first transport; one of them over the others, because a death has the same steps for all of them. */
const kindsOver = (transport: string) =>
  transport === TRANSPORTS[0] || process.env.RDMC_TEST_LONG === '1' ? KINDS : KINDS.slice(1, 2);
const PAIRS = TRANSPORTS.flatMap((transport) =>
  kindsOver(transport).map((kind) => ({ transport, kind, name: JSON.stringify(kind) })),
);
/**
 * One kind for what does not depend on the kind: channels of all kinds carry streams, and end, in channel.test.ts.
 * RDMC_TEST_LONG=1: all kinds.
 */
const isRunWith = (kind: object): boolean => kind === KINDS[1] || process.env.RDMC_TEST_LONG === '1';
const why = (kind: object): string =>
  isRunWith(kind) ? '' : ' [skipped: set RDMC_TEST_LONG=1 to run it with all kinds]';
const MANY = 1_000_000;

let folder: string;
beforeEach(() => {
  folder = temporaryDirectory('hipower');
});

describe.each(PAIRS)('processes over $transport, $name', ({ transport, kind }) => {
  async function start(requester: object, responder: object): Promise<[Child, Child]> {
    const members = await freed(await reserveLoopbackPorts(2));
    const common = { channel: 'numbers', slots: 32, slotBytes: 256, ...PATIENT, ...kind };
    const options = (id: number) => ({
      node: { id, members, device: deviceOver(transport) },
      messageBytes: 512,
    });
    return [
      new Child({ ...options(0), role: 'requester', channel: { ...common, to: 1 }, ...requester }),
      new Child({
        ...options(1),
        role: 'responder',
        channel: { ...common, from: 0 },
        log: join(folder, 'log'),
        ...responder,
      }),
    ];
  }

  /** The numbers that the responder consumed, in order. */
  function consumed(): number[] {
    return readFileSync(join(folder, 'log'), 'utf8').trim().split('\n').map(Number);
  }

  function expectOnceEach(numbers: readonly number[]): void {
    expect(numbers).toEqual(numbers.map((_, index) => index));
  }

  it.runIf(isRunWith(kind))(`a stream from process to process${why(kind)}`, async () => {
    const [requester, responder] = await start({ messages: 2000 }, {});
    expect(await requester.event('done')).toMatchObject({ generation: 1 });
    await responder.event('done');
    await Promise.all([requester.exited, responder.exited]);
    expect(consumed().length).toBe(2000);
    expectOnceEach(consumed());
  });

  it('kill -9 of the responder: the requester names the dead member and what was consumed', async () => {
    const [requester, responder] = await start({ messages: MANY }, { reportAt: 300 });
    await responder.event('reached');
    await responder.kill();
    const failure = await requester.event('failed');
    await requester.exited;
    expect(failure).toMatchObject({ code: 'ERR_RDMC_HIPOWER_PEER_LOST', memberId: 1 });
    expect(failure.message).toContain('responder 1 is lost');
    expectOnceEach(consumed());
    const [progress] = failure.progress as Progress[];
    // Two slots a message. Slots that the requester knows to be released were consumed; slots that it did not write were not.
    expect(progress!.released).toBeLessThanOrEqual(2 * consumed().length);
    expect(progress!.released).toBeGreaterThan(0);
    expect(progress!.delivered).toBeGreaterThanOrEqual(2 * consumed().length);
  });

  it('kill -9 of the responder that holds the last messages, after it took the end: the same', async () => {
    const [requester, responder] = await start({ messages: 100 }, { holdFrom: 97 });
    await responder.event('ended');
    await responder.kill();
    const failure = await requester.event('failed');
    await requester.exited;
    expect(failure).toMatchObject({ code: 'ERR_RDMC_HIPOWER_PEER_LOST', memberId: 1 });
    const [progress] = failure.progress as Progress[];
    expect(progress!.delivered).toBe(200);
    expect(progress!.released).toBeLessThanOrEqual(194);
    expectOnceEach(consumed());
  });

  it('kill -9 of the requester: the responder consumes what arrived, and names the dead member', async () => {
    const [requester, responder] = await start({ messages: MANY, reportAt: 300 }, {});
    await requester.event('reached');
    await requester.kill();
    const failure = await responder.event('failed');
    await responder.exited;
    expect(failure).toMatchObject({ code: 'ERR_RDMC_HIPOWER_PEER_LOST', memberId: 0 });
    expect(failure.message).toContain('requester 0 is lost');
    expectOnceEach(consumed());
    const [progress] = failure.progress as Progress[];
    expect(consumed().length).toBeGreaterThan(200);
    // The account was taken when the death was detected; slots that had arrived by then were consumed afterwards.
    expect(2 * consumed().length).toBeGreaterThanOrEqual(progress!.released);
  });
});
