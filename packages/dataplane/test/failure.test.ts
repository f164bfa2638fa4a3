import type { DataPlaneError } from '@rdmc/dataplane';
import { refusal, until } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';
import { echoRecords } from './fixtures/echo.mjs';
import worker, { type PairRecords, type Place } from './fixtures/pairs.mjs';
import {
  DRIVERS,
  type Driven,
  type Driver,
  drive,
  driveEcho,
  ECHO,
  NO_ECHO_EVENTS,
  startPlane,
} from './planes.js';

const module = new URL('./fixtures/pairs.mjs', import.meta.url);
const ENDED = refusal('ERR_RDMC_PROTOCOL_ENDED');
const events = { completed() {} };

type Pairs = Driven<PairRecords>;

/** Two protocols side by side, both connected. */
async function two(driver: Driver, data: object = {}): Promise<[failing: Pairs, healthy: Pairs]> {
  const subject = { module, worker, events };
  const [failing, healthy] = await drive(driver, [
    { ...subject, name: 'failing', data: { isAsked: true, ...data } },
    { ...subject, name: 'healthy', data: { isAsked: true } },
  ]);
  await Promise.all([failing!.client.connect(), healthy!.client.connect()]);
  return [failing!, healthy!];
}

describe.each(DRIVERS)('a protocol that throws, %s driver', (driver) => {
  it.each<[Place, (failing: Pairs) => unknown]>([
    ['post', () => {}],
    ['onTurn', () => {}],
    ['waitsForSolicited', () => {}],
    ['onCompletion', ({ client }) => client.transfer().catch(() => {})],
  ])('in %s ends alone: its calls reject, and others continue', async (place, provoke) => {
    const [failing, healthy] = await two(driver);
    const hanging = expect(failing.client.hang()).rejects.toEqual(ENDED);
    failing.client.failIn(place);
    provoke(failing);
    await hanging;
    await until(() => failing.ends.length > 0);
    expect(failing.ends).toEqual([
      expect.objectContaining({
        code: 'ERR_RDMC_PROTOCOL_ENDED',
        message: expect.stringMatching(new RegExp(`'failing'.*thrown in ${place}`)),
        cause: expect.objectContaining({ code: 'ERR_TEST_THROWN' }),
      }),
    ]);
    await expect(failing.client.transfer()).rejects.toEqual(ENDED);
    expect(failing.client.request([])).toBe(false);
    for (let i = 0; i < 20; i += 1) await healthy.client.transfer();
    expect(failing.ends).toHaveLength(1);
    expect(healthy.ends).toEqual([]);
    await failing.close();
    await healthy.close();
  });

  it('breaks its queue pairs: their peers get errors', async () => {
    const [{ client, plane, ends }] = await two(driver, { meets: true });
    const completions = plane.device.createCompletionQueue({ depth: 16 });
    const queues = { sendQueue: completions, receiveQueue: completions, sendDepth: 8, receiveDepth: 8 };
    const mine = plane.protectionDomain.createQueuePair(queues);
    const its = await client.meet(mine.address);
    await mine.connect(its);
    client.failIn('post');
    await until(() => ends.length === 1);
    // The other side has not posted a receive: only its end completes this send.
    mine.postSend({ opcode: 'SEND', id: 1 });
    let heard = completions.poll();
    await until(() => {
      if (heard.length === 0) heard = completions.poll();
      return heard.length > 0;
    });
    expect(heard[0]!.status).not.toBe('SUCCESS');
  });

  it('while it stops does not delay the close', async () => {
    const [failing] = await two(driver, { stopTurns: true });
    await failing.close();
    expect(failing.ends.length).toBeLessThanOrEqual(1);
  });

  it('in stop makes the close reject, and has ended then', async () => {
    const [failing] = await two(driver, { failIn: ['stop'] });
    const error: DataPlaneError = await failing.close().then(
      () => undefined as never,
      (reason) => reason,
    );
    const stopError = { code: 'ERR_TEST_THROWN', message: 'thrown in stop' };
    if (driver === 'worker')
      expect(error).toMatchObject({ code: 'ERR_RDMC_DATAPLANE_DIED', cause: stopError });
    else expect(error).toMatchObject(stopError);
    await expect(failing.client.transfer()).rejects.toThrow();
  });

  it('does not withdraw its earlier answers', async () => {
    const { client, ends } = await driveEcho(driver);
    const answers = Array.from({ length: 10 }, (_, i) => client.echo(Uint8Array.of(i)));
    client.throws();
    // Before the answers: a rejection without a handler when they arrive fails the test run.
    const late = expect(client.quiet()).rejects.toEqual(ENDED);
    expect(await Promise.all(answers)).toHaveLength(10);
    await late;
    expect(ends).toEqual([ENDED]);
  });
});

describe('a protocol that has ended before the application connected', () => {
  it('delivers its events first, then its end, and refuses calls', async () => {
    const log: string[] = [];
    const plane = await startPlane([
      { name: 'echo', module: ECHO, data: { emitAtStart: true, failFirstTurn: true } },
      { name: 'other', module: ECHO },
    ]);
    const other = plane.connect('other', echoRecords, NO_ECHO_EVENTS);
    await until(() => plane.counters().events === 2 && plane.counters().eventRingBytes === 0);
    await other.quiet();
    const echo = plane.connect(
      'echo',
      echoRecords,
      { ...NO_ECHO_EVENTS, started: () => log.push('started') },
      ({ code }) => log.push(code),
    );
    await expect(echo.quiet()).rejects.toEqual(ENDED);
    await until(() => log.length === 2);
    expect(log).toEqual(['started', 'ERR_RDMC_PROTOCOL_ENDED']);
  });
});
