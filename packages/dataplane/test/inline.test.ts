import { InlineDriver } from '@rdmc/dataplane';
import { refusal, until } from '@rdmc/testing';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import echo, { echoRecords } from './fixtures/echo.mjs';
import worker from './fixtures/pairs.mjs';
import { driveEcho, ECHO, NO_ECHO_EVENTS, startPlane } from './planes.js';

const EMPTY = new Uint8Array(0);
const CLOSED = refusal('ERR_RDMC_DATAPLANE_CLOSED');
const events = { completed() {} };
const PLANE = [{ name: 'idle', module: ECHO }];

/** Counts turns of the event loop until it is stopped, with one timer for each. */
function ticks(): { count: () => number } {
  let count = 0;
  const timer = setInterval(() => {
    count += 1;
  }, 1);
  onTestFinished(() => clearInterval(timer));
  return { count: () => count };
}

async function pairs(data: object = {}) {
  const plane = await startPlane(PLANE);
  const driver = await InlineDriver.open(plane, { name: 'pairs', worker, data, events });
  onTestFinished(() => driver.close().catch(() => {}));
  return { plane, driver, client: driver.client };
}

describe('a protocol in the application’s thread', () => {
  it('lets the event loop run while each completion leads to the next request', async () => {
    const { client } = await pairs();
    await client.connect();
    await client.transfer();
    const timers = ticks();
    client.circle();
    await until(() => timers.count() >= 5);
    expect(await client.circled()).toBeGreaterThan(5);
  });

  it('lets the event loop run while it asks for turns', async () => {
    const { client } = await driveEcho('inline');
    const timers = ticks();
    client.turns(Number.POSITIVE_INFINITY);
    await until(() => timers.count() >= 5);
    client.turns(0);
  });

  it('lets the event loop run while the application calls again at each answer', async () => {
    const { client } = await driveEcho('inline');
    const timers = ticks();
    while (timers.count() < 5) await client.quiet();
  });

  it('counts completions, and gets late ones through its channel', async () => {
    const { client, driver } = await pairs();
    await client.connect();
    for (let i = 0; i < 5; i += 1) await client.transfer();
    await until(() => driver.counters().completions === 10);
    const { turns, polls, commands, unclaimedCompletions } = driver.counters();
    expect({ commands, unclaimedCompletions }).toEqual({ commands: 6, unclaimedCompletions: 0 });
    expect(turns).toBeGreaterThanOrEqual(5);
    expect(polls).toBeGreaterThan(turns);
  });

  it('continues if the function of an event throws: that is an uncaught exception of the application', async () => {
    const uncaught = vi.fn();
    const others = process.listeners('uncaughtException');
    process.removeAllListeners('uncaughtException');
    process.on('uncaughtException', uncaught);
    onTestFinished(() => {
      process.removeListener('uncaughtException', uncaught);
      for (const listener of others) process.on('uncaughtException', listener);
    });
    const { client, ends } = await driveEcho('inline', {
      events: {
        emitted() {
          throw new Error('the application fails');
        },
      },
    });
    await client.emit(1, 8);
    await until(() => uncaught.mock.calls.length > 0);
    expect(uncaught.mock.calls[0]![0]).toMatchObject({ message: 'the application fails' });
    await client.quiet();
    expect(ends).toEqual([]);
  });
});

describe('starting a protocol in the application’s thread', () => {
  it('fails with the error of the protocol’s start, and frees everything', async () => {
    const plane = await startPlane(PLANE);
    const onEnd = vi.fn();
    const start = (data: object) => InlineDriver.open(plane, { name: 'pairs', worker, data, events, onEnd });
    await expect(start({ startError: true })).rejects.toEqual(refusal('ERR_TEST_START'));
    const options = { name: 'echo', worker: echo, events: NO_ECHO_EVENTS, onEnd };
    for (const data of [{ noProtocol: true }, { noCommands: true }]) {
      await expect(InlineDriver.open(plane, { ...options, data })).rejects.toEqual(
        refusal('ERR_RDMC_INVALID_PROTOCOL'),
      );
    }
    const incomplete = { ...options, events: { ...NO_ECHO_EVENTS, emitted: undefined as never } };
    await expect(InlineDriver.open(plane, incomplete)).rejects.toEqual(refusal('ERR_RDMC_INVALID_OPTION'));
    expect(onEnd).not.toHaveBeenCalled();
    await start({}).then((driver) => driver.close());
  });
});

describe('the end of the data plane', () => {
  it('by a close ends the protocol: calls reject, posts are dropped, a close resolves', async () => {
    const plane = await startPlane(PLANE);
    const onEnd = vi.fn();
    const options = { name: 'echo', worker: echo, events: NO_ECHO_EVENTS, onEnd };
    const driver = await InlineDriver.open(plane, options);
    const waiting = expect(driver.client.never(EMPTY)).rejects.toEqual(CLOSED);
    await plane.close();
    await waiting;
    await expect(driver.client.quiet()).rejects.toEqual(CLOSED);
    expect(driver.client.count(EMPTY)).toBe(false);
    await driver.close();
    expect(onEnd).not.toHaveBeenCalled();
  });

  it('by a close in the middle of traffic does not raise other errors', async () => {
    const { plane, driver, client } = await pairs();
    await client.connect();
    await client.transfer();
    client.circle();
    const hanging = expect(client.hang()).rejects.toEqual(CLOSED);
    await plane.close();
    await hanging;
    await driver.close();
  });

  it('by its death ends the protocol, and calls `onEnd` once', async () => {
    const plane = await startPlane(PLANE);
    const onEnd = vi.fn();
    const options = { name: 'echo', worker: echo, events: NO_ECHO_EVENTS, onEnd };
    const driver = await InlineDriver.open(plane, options);
    const DIED = refusal('ERR_RDMC_DATAPLANE_DIED');
    const waiting = expect(driver.client.never(EMPTY)).rejects.toEqual(DIED);
    plane.connect('idle', echoRecords, NO_ECHO_EVENTS).exit();
    await waiting;
    await until(() => onEnd.mock.calls.length > 0);
    await expect(driver.client.quiet()).rejects.toEqual(DIED);
    await driver.close();
    expect(onEnd.mock.calls).toEqual([[DIED]]);
  });
});
