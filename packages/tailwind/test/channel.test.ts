import { NONE, TraceKind, type TraceSink } from '@rdmc/dataplane/trace';
import { type LocalKey, remoteKey } from '@rdmc/verbs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { JOIN_STEP_BYTES } from '../src/constants.js';
import { Channel, type TargetWriter, type Written } from '../src/worker/channel.js';
import { LogTrace } from '../src/worker/log-trace.js';

interface Write {
  readonly target: Written;
  readonly sequence: number;
  readonly offset: number;
  readonly byteLength: number;
}

function setup(target: number, pair = target) {
  return { target, pair, member: 10 + target, address: 0, rkey: remoteKey(0), key: 0 };
}

/** A channel whose writes complete when the test says so. */
function rig(targets: number) {
  const writes = new Map<number, Write[]>();
  const events: string[] = [];
  const acknowledged: number[] = [];
  const trace: (readonly [kind: number, sequence: number, member: number])[] = [];
  const sink: TraceSink = {
    put: (_, kind, sequence, _block, member) => trace.push([kind, sequence, member]),
  };
  const writerOf = (pair: number): TargetWriter | undefined => {
    const list = writes.get(pair);
    if (!list) return undefined;
    return {
      write: (target, sequence, _from, offset, byteLength) =>
        void list.push({ target, sequence, offset, byteLength }),
    };
  };
  const numbers = Array.from({ length: targets }, (_, index) => index);
  for (const number of numbers) writes.set(number, []);
  const channel = new Channel(
    {
      ...{ channel: 1, address: 1000, lkey: 1 as LocalKey, traced: { log: 7, segment: 3 } },
      targets: numbers.map((number) => setup(number)),
    },
    writerOf,
    {
      acknowledged: (_, sequence) => acknowledged.push(sequence),
      lost: (_, target) => events.push(`lost ${target}`),
      caughtUp: (_, target) => events.push(`caught up ${target}`),
    },
    new LogTrace(sink, { log: 7, segment: 3 }),
  );
  const complete = (pair: number): void => {
    const write = writes.get(pair)!.shift();
    write?.target.complete(write.sequence);
  };
  return { channel, writes, events, acknowledged, complete, trace };
}

describe('a channel', () => {
  it('posts an append before the one before it is acknowledged', () => {
    const { channel, writes, acknowledged } = rig(2);
    channel.append(1, 0, 10);
    channel.append(2, 10, 20);
    expect(writes.get(0)!.map(({ offset, byteLength }) => [offset, byteLength])).toEqual([
      [0, 10],
      [10, 20],
    ]);
    expect(acknowledged).toEqual([]);
  });

  it('traces appends, their completions, and the target that it waits for', () => {
    const { channel, complete, trace } = rig(2);
    const k = TraceKind;
    channel.append(1, 0, 10);
    channel.append(2, 10, 20);
    complete(0);
    complete(0);
    expect(trace.splice(0)).toEqual([
      [k.BEGAN, 1, NONE],
      [k.SEND_STARTED, 1, 10],
      [k.SEND_STARTED, 1, 11],
      [k.WAITS_FOR_SENT, 1, 10],
      [k.BEGAN, 2, NONE],
      [k.SEND_STARTED, 2, 10],
      [k.SEND_STARTED, 2, 11],
      [k.SEND_FINISHED, 1, 10],
      [k.WAITS_FOR_SENT, 1, 11],
      [k.SEND_FINISHED, 2, 10],
    ]);
    complete(1);
    complete(1);
    expect(trace).toEqual([
      [k.SEND_FINISHED, 1, 11],
      [k.FINISHED, 1, NONE],
      [k.SEND_FINISHED, 2, 11],
      [k.WAITS_FOR_NOTHING, NONE, NONE],
      [k.FINISHED, 2, NONE],
    ]);
  });

  it('acknowledges appends that all targets have, in order, whichever target is slow', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 4 }),
        fc.array(fc.nat(3), { maxLength: 60 }),
        (targets, steps) => {
          const { channel, acknowledged, complete } = rig(targets);
          const completed = Array.from({ length: targets }, () => 0);
          for (let sequence = 1; sequence <= 10; sequence += 1) channel.append(sequence, sequence, 1);
          for (const step of steps) {
            const pair = step % targets;
            complete(pair);
            completed[pair] = Math.min(10, completed[pair]! + 1);
            expect(acknowledged.at(-1) ?? 0).toBe(Math.min(...completed));
          }
          expect(acknowledged).toEqual([...acknowledged].sort((a, b) => a - b));
        },
      ),
    );
  });

  it('acknowledges nothing after a loss until resume, and then only what the replacement has', () => {
    const { channel, writes, events, acknowledged, complete } = rig(2);
    channel.append(1, 0, 10);
    complete(0);
    complete(1);
    channel.append(2, 10, 10);
    complete(0);
    writes.get(1)![0]!.target.fail('its process died');
    expect(events).toEqual(['lost 1']);
    writes.set(5, []);
    channel.replace(1, setup(5));
    expect(writes.get(5)).toMatchObject([{ sequence: 2, offset: 0, byteLength: 20 }]);
    channel.append(3, 20, 5);
    complete(0);
    complete(5);
    complete(5);
    expect(events).toEqual(['lost 1', 'caught up 5']);
    expect(acknowledged).toEqual([1]);
    channel.resume();
    expect(acknowledged).toEqual([1, 3]);
  });

  it('does not acknowledge after resume while another target is lost', () => {
    const { channel, writes, events, acknowledged, complete } = rig(2);
    channel.append(1, 0, 10);
    for (const pair of [0, 1]) writes.get(pair)![0]!.target.fail('gone');
    writes.set(5, []);
    channel.replace(0, setup(5));
    complete(5);
    channel.resume();
    expect(acknowledged).toEqual([]);
    channel.replace(1, setup(9));
    expect(events).toEqual(['lost 0', 'lost 1', 'caught up 5', 'lost 9']);
  });

  it('takes a replacement before anything was appended', () => {
    const { channel, writes, events } = rig(1);
    channel.targets[0]!.fail('gone');
    writes.set(5, []);
    channel.replace(0, setup(5));
    expect(events).toEqual(['lost 0', 'caught up 5']);
    expect(writes.get(5)).toEqual([]);
  });

  describe('that a further target joins', () => {
    it('acknowledges without it, until it has a copy in steps', () => {
      const { channel, writes, events, acknowledged, complete } = rig(1);
      channel.append(1, 0, 2 * JOIN_STEP_BYTES + 10);
      complete(0);
      writes.set(5, []);
      channel.join(setup(5));
      channel.append(2, 2 * JOIN_STEP_BYTES + 10, 20);
      complete(0);
      const copied: (readonly [offset: number, byteLength: number])[] = [];
      for (let step = 0; step < 2; step += 1) {
        copied.push(...writes.get(5)!.map(({ offset, byteLength }) => [offset, byteLength] as const));
        complete(5);
      }
      expect(copied).toEqual([
        [0, JOIN_STEP_BYTES],
        [JOIN_STEP_BYTES, JOIN_STEP_BYTES],
      ]);
      channel.append(3, 2 * JOIN_STEP_BYTES + 30, 5);
      complete(0);
      expect(acknowledged).toEqual([1, 2, 3]);
      expect(events).toEqual([]);
      // The last step has what was appended since; it lacks an append that was acknowledged.
      expect(writes.get(5)).toMatchObject([
        { sequence: 2, offset: 2 * JOIN_STEP_BYTES, byteLength: 30 },
        { sequence: 3, byteLength: 5 },
      ]);
      complete(5);
      expect(events).toEqual([]);
      channel.append(4, 2 * JOIN_STEP_BYTES + 35, 5);
      complete(0);
      expect(acknowledged).toEqual([1, 2, 3]);
      complete(5);
      expect(events).toEqual(['caught up 5']);
      complete(5);
      expect(acknowledged).toEqual([1, 2, 3, 4]);
    });

    it('has told that it caught up only when it has everything acknowledged, whatever the order of completions', () => {
      fc.assert(
        fc.property(
          fc.nat(6),
          fc.array(fc.constantFrom<'append' | 0 | 1 | 5>('append', 0, 1, 5), { maxLength: 60 }),
          (before, steps) => {
            const { channel, writes, events, acknowledged, complete } = rig(2);
            let [sequence, bytes] = [0, 0];
            const append = (): void => {
              sequence += 1;
              channel.append(sequence, bytes, JOIN_STEP_BYTES / 2);
              bytes += JOIN_STEP_BYTES / 2;
            };
            for (let index = 0; index < before; index += 1) append();
            writes.set(5, []);
            channel.join(setup(5));
            const joined = channel.targets.at(-1)!;
            for (const step of steps) {
              if (step === 'append') append();
              else complete(step);
              if (events.length > 0)
                expect(joined.completed).toBeGreaterThanOrEqual(acknowledged.at(-1) ?? 0);
            }
            for (let round = 0; round < 100; round += 1) for (const pair of [0, 1, 5]) complete(pair);
            expect(events).toEqual(['caught up 5']);
            expect(acknowledged.at(-1) ?? 0).toBe(sequence);
          },
        ),
      );
    });

    it('goes on when it is lost during its copy, and not when it counts', () => {
      const { channel, writes, events, acknowledged, complete } = rig(1);
      channel.append(1, 0, 2 * JOIN_STEP_BYTES);
      writes.set(5, []);
      channel.join(setup(5));
      writes.get(5)![0]!.target.fail('its process died');
      complete(0);
      expect(events).toEqual(['lost 5']);
      expect(acknowledged).toEqual([1]);
      writes.set(6, []);
      channel.join(setup(6));
      complete(6);
      complete(6);
      expect(events).toEqual(['lost 5', 'caught up 6']);
      channel.append(2, 2 * JOIN_STEP_BYTES, 5);
      writes.get(6)![0]!.target.fail('its process died');
      complete(0);
      expect(acknowledged).toEqual([1]);
      channel.remove(6);
      expect(acknowledged).toEqual([1]);
      channel.resume();
      expect(acknowledged).toEqual([1, 2]);
    });

    it('does not wait for the one that leaves, nor count its loss', () => {
      const { channel, writes, events, acknowledged, complete } = rig(2);
      channel.append(1, 0, 5);
      complete(0);
      channel.remove(1);
      expect(acknowledged).toEqual([1]);
      writes.get(1)![0]!.target.fail('its connection ended');
      channel.append(2, 5, 5);
      complete(0);
      expect(acknowledged).toEqual([1, 2]);
      expect(writes.get(1)).toHaveLength(1);
      expect(events).toEqual([]);
    });

    it('writes an append to the targets behind one that is lost by that', () => {
      const { channel, writes } = rig(1);
      channel.append(1, 0, 5);
      for (const pair of [5, 6]) {
        writes.set(pair, []);
        channel.join(setup(pair));
      }
      writes.delete(5);
      channel.append(2, 5, 5);
      expect(writes.get(6)!.map(({ sequence }) => sequence)).toEqual([1, 2]);
    });

    it('copies nothing more when the segment ends', () => {
      const { channel, writes, complete } = rig(1);
      channel.append(1, 0, 3 * JOIN_STEP_BYTES);
      writes.set(5, []);
      channel.join(setup(5));
      channel.end();
      complete(5);
      expect(writes.get(5)).toEqual([]);
    });
  });
});
