import { until } from '@rdmc/testing';
import { Layout } from '@rdmc/verbs';
import { describe, expect, it } from 'vitest';
import worker, { type Completed, type PairRecords, type Side } from './fixtures/pairs.mjs';
import { DRIVERS, type Driven, type Driver, drive } from './planes.js';

const FLUSHED = 'WORK_REQUEST_FLUSHED';
const UNKNOWN_LKEY = 0x7fff_fff0;
const module = new URL('./fixtures/pairs.mjs', import.meta.url);

interface Pairs extends Driven<PairRecords> {
  readonly heard: Completed[];
}

async function pairs(driver: Driver, data: object = {}): Promise<Pairs> {
  const heard: Completed[] = [];
  const events = { completed: (completed: Completed) => void heard.push(completed) };
  const [driven] = await drive(driver, [{ name: 'pairs', module, worker, data, events }]);
  return { ...driven!, heard };
}

/** The completions of one queue pair, in order. */
function of(heard: readonly Completed[], side: Side, connection = 0): Completed[] {
  return heard.filter((completed) => completed.side === side && completed.connection === connection);
}

const receives = (count: number, connection = 0) =>
  Array.from({ length: count }, (_, id) => ({ connection, side: 'receiver' as const, id }));
const sends = (...ids: number[]) => ids.map((id) => ({ side: 'sender' as const, id }));
const ids = (completions: readonly Completed[]) => completions.map(({ id }) => id);

describe.each(DRIVERS)('a request that the device refuses, %s driver', (driver) => {
  it('is an error completion, before those of later requests, which are not executed', async () => {
    const { client, heard, ends } = await pairs(driver);
    await client.connect();
    client.request(receives(4));
    client.request([...sends(10), { side: 'sender', id: 11, lkey: UNKNOWN_LKEY }, ...sends(12)]);
    client.request(sends(13));
    await until(() => of(heard, 'sender').length === 4);
    // Earlier requests may have been sent, or are flushed.
    const failed = of(heard, 'sender').filter(({ id }) => id !== 10);
    expect(ids(failed)).toEqual([11, 12, 13]);
    expect(failed.map(({ status }) => status)).not.toContain('SUCCESS');
    expect(failed[0]).toMatchObject({
      status: 'LOCAL_PROTECTION_ERROR',
      code: 'ERR_RDMC_INVALID_LKEY',
      reason: expect.stringContaining('the device refused a request'),
    });
    const arrived = of(heard, 'receiver').filter(({ status }) => status === 'SUCCESS');
    expect(arrived.length).toBeLessThanOrEqual(1);
    expect(ends).toEqual([]);
  });

  it('flushes the requests of later turns', async () => {
    const { client, heard } = await pairs(driver);
    await client.connect();
    client.request([{ side: 'sender', id: 11, lkey: UNKNOWN_LKEY }]);
    await until(() => heard.length === 1);
    client.request(sends(12, 13));
    await until(() => heard.length === 3);
    expect(heard.map(({ id, status, code }) => [id, status, code])).toEqual([
      [11, 'LOCAL_PROTECTION_ERROR', 'ERR_RDMC_INVALID_LKEY'],
      [12, FLUSHED, null],
      [13, FLUSHED, null],
    ]);
    expect(heard[1]!.reason).toBe(`its queue pair failed with ${FLUSHED}`);
  });

  it('is not overtaken by later requests of its queue pair, with requests of others in between', async () => {
    const { client, heard } = await pairs(driver);
    await client.connect();
    // The connection is up now, so that the doorbell would send the message.
    await client.transfer();
    await until(() => heard.length === 2);
    heard.length = 0;
    client.request([...receives(2), ...receives(2, 1)]);
    client.request([
      { side: 'sender', id: 11, lkey: UNKNOWN_LKEY },
      { connection: 1, side: 'sender', id: 20 },
      ...sends(12),
    ]);
    await until(() => of(heard, 'sender').length === 2 && of(heard, 'receiver', 1).length === 1);
    expect(ids(of(heard, 'sender'))).toEqual([11, 12]);
    expect(of(heard, 'sender')[1]!.status).not.toBe('SUCCESS');
    expect(of(heard, 'sender', 1)).toMatchObject([{ id: 20, status: 'SUCCESS' }]);
    expect(of(heard, 'receiver', 1)).toMatchObject([{ id: 0, status: 'SUCCESS' }]);
  });

  it('may be one receive too many; the earlier receives are flushed', async () => {
    const { client, heard } = await pairs(driver, { depth: 8 });
    await client.connect();
    client.request(receives(9));
    await until(() => heard.length === 9);
    expect(heard[0]).toMatchObject({
      id: 8,
      status: 'LOCAL_QP_OPERATION_ERROR',
      code: 'ERR_RDMC_QUEUE_FULL',
    });
    expect(heard.slice(1)).toMatchObject(receives(8).map(({ id }) => ({ id, status: FLUSHED })));
  });

  it('may be a send before the connection', async () => {
    const { client, heard } = await pairs(driver);
    client.request(sends(10));
    await until(() => heard.length === 1);
    expect(heard).toMatchObject([{ id: 10, code: 'ERR_RDMC_QUEUE_PAIR_STATE' }]);
  });

  it('is reported if the batch filled up in the middle of a turn', async () => {
    const count = Layout.BATCH_SLOTS + 40;
    const { client, heard, ends } = await pairs(driver, { depth: 2 * Layout.BATCH_SLOTS });
    await client.connect();
    const requests = sends(...Array.from({ length: count }, (_, id) => id));
    client.request([
      ...requests.slice(0, 5).map(({ id }) => ({ side: 'receiver' as const, id })),
      ...requests.slice(0, 5),
      { side: 'sender', id: 5, lkey: UNKNOWN_LKEY },
      ...requests.slice(6),
    ]);
    await until(() => of(heard, 'sender').length === count);
    const failed = of(heard, 'sender').filter(({ id }) => id >= 5);
    expect(ids(failed)).toEqual(Array.from({ length: count - 5 }, (_, i) => i + 5));
    expect(failed.map(({ status }) => status)).not.toContain('SUCCESS');
    expect(failed[0]).toMatchObject({ code: 'ERR_RDMC_INVALID_LKEY' });
    // Posted when the queue pair was broken already: the device takes it, and flushes it.
    expect(failed.at(-1)).toMatchObject({ status: FLUSHED, code: null });
    expect(ends).toEqual([]);
  });

  it('of a queue pair that was detached in the same turn is dropped', async () => {
    const { client, heard, counters } = await pairs(driver);
    await client.connect();
    await client.detachAll([{ side: 'sender', id: 11, lkey: UNKNOWN_LKEY }]);
    await until(() => counters().unclaimedCompletions === 1);
    expect(heard).toEqual([]);
  });
});

describe.each(DRIVERS)('detaching, %s driver', (driver) => {
  it('first posts the requests of the turn', async () => {
    const { client, heard, counters } = await pairs(driver);
    await client.connect();
    // The connection is up now, so that the doorbell sends the message.
    await client.transfer();
    heard.length = 0;
    await client.leave();
    await until(() => of(heard, 'receiver').some(({ id }) => id === 1));
    expect(of(heard, 'receiver').find(({ id }) => id === 1)).toMatchObject({ status: 'SUCCESS' });
    expect(counters().unclaimedCompletions).toBe(0);
  });
});
