import { isDeepStrictEqual } from 'node:util';
import { bytes, call, DataPlaneError, json, nothing, numbers, post, recordTable } from '@rdmc/dataplane';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import worker from './fixtures/shapes.mjs';
import { DRIVERS, drive, startPlane } from './planes.js';

const INVALID = expect.objectContaining({ code: 'ERR_RDMC_INVALID_PROTOCOL' });
const module = new URL('./fixtures/shapes.mjs', import.meta.url);

/** A record: its name, and its arguments. */
type Sent = readonly [name: string, ...values: unknown[]];

const row = (count: number) =>
  fc
    .array(fc.double(), { minLength: count, maxLength: count })
    .map((values): Sent => [`row${count}`, ...values]);
const record: fc.Arbitrary<Sent> = fc.oneof(
  fc.constant<Sent>(['signal']),
  fc.jsonValue().map((value): Sent => ['value', JSON.parse(JSON.stringify(value))]),
  fc.uint8Array({ maxLength: 300 }).map((value): Sent => ['raw', value]),
  ...Array.from({ length: 9 }, (_, count) => row(count)),
);

type Client = Readonly<Record<string, (...values: unknown[]) => unknown>>;

/** Sends all records, and returns the first one that came back changed. */
async function firstWrong(client: Client, heard: Sent[], records: readonly Sent[]): Promise<unknown> {
  heard.length = 0;
  for (const [name, ...values] of records) client[name]!(...values);
  await client.askSignal!();
  const wrong = records.findIndex((sent, i) => !isDeepStrictEqual(heard[i], sent));
  return wrong < 0 && heard.length === records.length
    ? undefined
    : { sent: records[wrong], got: heard[wrong] };
}

function listeners(heard: Sent[]): Record<string, (...values: unknown[]) => void> {
  const names = Object.keys(worker.records.events);
  const counts: Record<string, number> = { signal: 0, value: 1, raw: 1 };
  for (let count = 0; count <= 8; count += 1) counts[`row${count}`] = count;
  return Object.fromEntries(
    names.map((name) => [name, (...values) => heard.push([name, ...values.slice(0, counts[name])])]),
  );
}

describe('records of all shapes', () => {
  it('pass rings of 4 KiB unchanged', async () => {
    const heard: Sent[] = [];
    const rings = { commandRingBytes: 4096, eventRingBytes: 4096 };
    const plane = await startPlane([{ name: 'shapes', module }], rings);
    const client = plane.connect('shapes', worker.records, listeners(heard)) as unknown as Client;
    await fc.assert(
      fc.asyncProperty(fc.array(record, { maxLength: 100 }), async (records) => {
        expect(await firstWrong(client, heard, records)).toBeUndefined();
      }),
      { numRuns: 60 },
    );
  });

  it('reach a protocol in the same thread unchanged', async () => {
    const heard: Sent[] = [];
    const subject = { name: 'shapes', module, worker, events: listeners(heard) as never };
    const [driven] = await drive('inline', [subject]);
    const client = driven!.client as unknown as Client;
    await fc.assert(
      fc.asyncProperty(fc.array(record, { maxLength: 30 }), async (records) => {
        expect(await firstWrong(client, heard, records)).toBeUndefined();
      }),
      { numRuns: 30 },
    );
  });

  it.each(DRIVERS)('are answers, too, %s driver', async (driver) => {
    const subject = { name: 'shapes', module, worker, events: listeners([]) as never };
    const [driven] = await drive(driver, [subject]);
    const client = driven!.client as unknown as Client;
    const values = [1, 'ü', null, { a: [1.5] }];
    for (const value of values) expect(await client.askValue!(value)).toEqual(value);
    for (const value of [0.5, -0, Number.NaN, Number.NEGATIVE_INFINITY]) {
      expect(await client.askRow!(value)).toBe(value);
    }
    expect(await client.askRaw!(Uint8Array.of(7))).toEqual(Uint8Array.of(7));
  });

  it('refuse values that JSON cannot represent', async () => {
    const plane = await startPlane([{ name: 'shapes', module }]);
    const client = plane.connect('shapes', worker.records, listeners([])) as unknown as Client;
    await expect(client.askValue!(1n)).rejects.toMatchObject({
      code: 'ERR_RDMC_INVALID_OPTION',
      message: expect.stringContaining('BigInt'),
    });
    await client.askSignal!();
  });
});

describe('a record table', () => {
  const valid = { commands: { open: call(json<number>()) }, events: { heard: bytes } };

  it('is returned unchanged', () => {
    expect(recordTable(valid)).toBe(valid);
    expect(recordTable({ commands: {}, events: {} })).toEqual({ commands: {}, events: {} });
  });

  it.each([
    ['nothing', undefined],
    ['no events', { commands: {} }],
    ['no commands', { events: {} }],
    ['a payload as a command', { commands: { open: json() }, events: {} }],
    ['a post as an event', { commands: {}, events: { heard: post(nothing) } }],
    ['9 numbers in a command', { commands: { open: post(numbers(9 as never)) }, events: {} }],
    ['9 numbers in an event', { commands: {}, events: { heard: numbers(9 as never) } }],
    ['half a number', { commands: {}, events: { heard: numbers(0.5 as never) } }],
    ['numbers without a count', { commands: {}, events: { heard: numbers(undefined as never) } }],
    ['two numbers in an answer', { commands: { open: call(nothing, numbers(2) as never) }, events: {} }],
    [
      'too many events',
      { commands: {}, events: Object.fromEntries(Array.from({ length: 65_536 }, (_, i) => [i, nothing])) },
    ],
  ])('is refused with %s', (_, table) => {
    expect(() => recordTable(table as never)).toThrow(DataPlaneError);
    expect(() => recordTable(table as never)).toThrow(INVALID);
  });
});
