import { refusal, until } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';
import { DRIVERS, driveEcho } from './planes.js';

const EMPTY = new Uint8Array(0);
const CLOSED = refusal('ERR_RDMC_DATAPLANE_CLOSED');

describe.each(DRIVERS)('a protocol in the thread of the %s driver', (driver) => {
  it('answers calls with its result, at once or later', async () => {
    const { client } = await driveEcho(driver);
    expect(await client.echo(Uint8Array.of(1, 2, 3))).toEqual(Uint8Array.of(1, 2, 3));
    expect(await client.later(Uint8Array.of(4))).toEqual(Uint8Array.of(4));
    expect(await client.quiet()).toBeUndefined();
  });

  it('answers a call that throws or rejects with the code of the error, and continues', async () => {
    const { client, ends } = await driveEcho(driver);
    await expect(client.fail()).rejects.toMatchObject({
      name: 'ProtocolError',
      code: 'ERR_TEST_REFUSED',
      message: 'not today',
    });
    await expect(client.failLater()).rejects.toMatchObject({
      name: 'ProtocolError',
      code: 'ERR_TEST_REFUSED_LATER',
      message: 'not today either',
    });
    await client.quiet();
    expect(ends).toEqual([]);
  });

  it('takes posts in the order of the calls, between calls', async () => {
    const { client } = await driveEcho(driver);
    const orders: Promise<readonly number[]>[] = [];
    for (let i = 0; i < 10; i += 1) {
      expect(client.order(i, 0, 0, 0, 0, 0, 0, 0)).toBe(true);
      orders.push(client.orders().then((order) => [...order]));
    }
    expect((await Promise.all(orders)).at(-1)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });

  it('emits events in order, before the answer to the call that emitted them', async () => {
    const heard: number[] = [];
    const { client } = await driveEcho(driver, {
      events: {
        emitted: (payload) => heard.push(payload[0]!),
        emittedLater: (value) => heard.push(value),
      },
    });
    await client.emit(3, 8);
    await client.emitLater(0.5);
    expect(heard).toEqual([0, 1, 2, 0.5]);
  });

  it('gives each event its own copy of bytes', async () => {
    const heard: Uint8Array[] = [];
    const { client } = await driveEcho(driver, { events: { emitted: (payload) => heard.push(payload) } });
    await client.emit(3, 4);
    expect(heard.map((payload) => payload[0])).toEqual([0, 1, 2]);
  });

  it('gets its own copy of bytes, and refuses other values', async () => {
    const { client, ends } = await driveEcho(driver);
    const sent = Uint8Array.of(1);
    const answer = client.later(sent);
    sent[0] = 2;
    expect(await answer).toEqual(Uint8Array.of(1));
    const wrong = Uint32Array.of(1) as never;
    expect(() => client.count(wrong)).toThrow(refusal('ERR_RDMC_INVALID_OPTION'));
    await expect(client.echo(wrong)).rejects.toEqual(refusal('ERR_RDMC_INVALID_OPTION'));
    await client.quiet();
    expect(ends).toEqual([]);
  });

  it('counts commands and turns, and has its own counters', async () => {
    const { client, counters } = await driveEcho(driver);
    client.count(EMPTY);
    await client.quiet();
    await until(() => counters().turns > 0);
    expect(counters()).toMatchObject({ commands: 2, named: { 'echo.seen': 1 } });
  });

  it('has a turn whenever it asks for one', async () => {
    const { client } = await driveEcho(driver);
    client.turns(1000);
    let turned = 0;
    while (turned < 1000) turned = await client.turned();
  });

  it('stops with a close, which settles calls and is idempotent', async () => {
    let stopped = 0;
    const { client, close, ends } = await driveEcho(driver, {
      data: { emitAtStop: true },
      events: {
        stopped: () => {
          stopped += 1;
        },
      },
    });
    const never = expect(client.never(EMPTY)).rejects.toEqual(CLOSED);
    const closing = close();
    expect(close()).toBe(closing);
    expect(client.count(EMPTY)).toBe(false);
    await expect(client.quiet()).rejects.toEqual(CLOSED);
    await Promise.all([closing, never]);
    expect(stopped).toBe(1);
    await expect(client.quiet()).rejects.toEqual(CLOSED);
    await close();
    expect(ends).toEqual([]);
  });
});
