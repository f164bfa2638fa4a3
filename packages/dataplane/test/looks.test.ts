import { until } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';
import { CONTESTED_YIELD_NS, NAPS_MS } from '../src/constants.js';
import { ControlWord, createControl } from '../src/control.js';
import { Counter, CounterBlock } from '../src/counters.js';
import { EventOutbox } from '../src/event-outbox.js';
import { PollPolicy } from '../src/poll-policy.js';
import { RingReader, RingWriter } from '../src/ring.js';
import { type LoopParts, WorkerLoop } from '../src/worker-loop.js';

const LONG = CONTESTED_YIELD_NS + 1;

describe('the policy of looks', () => {
  it('naps for some time after a contested yield between two looks', () => {
    const policy = new PollPolicy(50, 0);
    expect(policy.mayNap(1)).toBe(false);
    policy.yieldedBetweenLooks(CONTESTED_YIELD_NS, 1);
    expect(policy.mayNap(1)).toBe(false);
    policy.yieldedBetweenLooks(LONG, 1);
    expect(policy.mayNap(1)).toBe(true);
    expect(policy.mayNap(NAPS_MS + 0.9)).toBe(true);
    expect(policy.mayNap(NAPS_MS + 1)).toBe(false);
  });

  it('does not affect the sleep of a loop without looks, and is not affected by contested polls', () => {
    const policy = new PollPolicy(50, 0);
    policy.yieldedBetweenLooks(LONG, 1);
    expect(policy.maySleep(49)).toBe(false);
    expect(policy.maySleep(50)).toBe(true);
    const resting = new PollPolicy(50, 0);
    resting.yielded(LONG, 1);
    expect(resting.maySleep(2)).toBe(true);
    expect(resting.mayNap(2)).toBe(false);
  });

  it('never naps with a window of Infinity', () => {
    const policy = new PollPolicy(Number.POSITIVE_INFINITY, 0);
    policy.yieldedBetweenLooks(LONG, 1);
    expect(policy.mayNap(2)).toBe(false);
  });
});

/** A policy whose looks use a clock that stands still, so that a slow machine does not matter. */
class TimelessPolicy extends PollPolicy {
  override yieldedBetweenLooks(nanoseconds: number): void {
    super.yieldedBetweenLooks(nanoseconds, 0);
  }

  override mayNap(): boolean {
    return super.mayNap(0);
  }
}

/** A loop with one protocol that asks for `looks` looks, on a processor that is contested or not. */
function setUp({ windowMs = 0, looks = 0, mayNap = true, contested = false, ...overrides }: Script = {}) {
  const control = createControl();
  const words = new Int32Array(control);
  const counters = new CounterBlock(control).values;
  const ring = (head: number, tail: number) => ({ data: new SharedArrayBuffer(4096), words, head, tail });
  const commandRing = ring(ControlWord.COMMAND_HEAD, ControlWord.COMMAND_TAIL);
  const eventRing = ring(ControlWord.EVENT_HEAD, ControlWord.EVENT_TAIL);
  const log: string[] = [];
  const script = { looks, polls: [] as number[] };
  const look = (): void => {
    log.push('look');
    script.looks -= 1;
    if (script.looks > 0) loop.askLook(mayNap);
  };
  const parts: LoopParts = {
    words,
    counters,
    commands: new RingReader(commandRing),
    outbox: new EventOutbox(new RingWriter(eventRing), words, () => {}),
    policy: new TimelessPolicy(windowMs, performance.now()),
    pollBatch: () => script.polls.shift() ?? 0,
    armChannel: () => log.push('arm'),
    yieldProcessor: () => {
      log.push('yield');
      return contested ? LONG : 0;
    },
    startNap: () => log.push('nap'),
    signalApplication: () => {},
    dispatchCompletions: () => log.push('completions'),
    dispatchRefused: () => 0,
    dispatchCommand: (record) => log.push(`command ${record.tag}`),
    afterWork: () => {
      if (script.looks > 0) look();
    },
    ringDoorbell: () => {},
    ...overrides,
  };
  const loop: WorkerLoop = new WorkerLoop(parts);
  const asleep = (): boolean => Atomics.load(words, ControlWord.WORKER_SLEEPING) === 1;
  if (looks > 0) loop.askLook(mayNap);
  return { loop, log, counters, script, commands: new RingWriter(commandRing), asleep };
}

type Script = Partial<LoopParts> & {
  windowMs?: number;
  looks?: number;
  mayNap?: boolean;
  contested?: boolean;
};

describe('looks', () => {
  it('follow one another with a yield in between, and count neither as turns nor as work for the window', async () => {
    const { loop, log, counters, asleep } = setUp({ looks: 3 });
    loop.start();
    await until(asleep);
    expect(log).toEqual(['look', 'yield', 'look', 'yield', 'look', 'arm']);
    expect(counters[Counter.turns]).toBe(0);
    expect(counters[Counter.contested]).toBe(0);
    expect(counters[Counter.sleeps]).toBe(1);
  });

  it('do not yield after a turn with work', async () => {
    const { loop, log, script, asleep } = setUp({ looks: 2 });
    script.polls.push(1);
    loop.start();
    await until(asleep);
    expect(log).toEqual(['completions', 'look', 'look', 'arm']);
  });

  it('wake a loop that sleeps', async () => {
    const { loop, log, script, asleep } = setUp();
    loop.start();
    await until(asleep);
    script.looks = 1;
    loop.askLook(true);
    expect(asleep()).toBe(false);
    await until(asleep);
    expect(log).toEqual(['arm', 'look', 'arm']);
  });

  it('on a contested processor: the thread naps, armed, with its event loop free', async () => {
    const { loop, log, counters, asleep } = setUp({ looks: 9, contested: true });
    loop.start();
    await until(asleep);
    expect(log).toEqual(['look', 'yield', 'look', 'arm', 'nap']);
    loop.endNap();
    await until(asleep);
    expect(log.slice(5)).toEqual(['look', 'arm', 'nap']);
    expect([counters[Counter.sleeps], counters[Counter.wakeups]]).toEqual([0, 0]);
  });

  it.each([
    ['a command', 'command 7'],
    ['a completion', 'completions'],
  ])('%s ends a nap, and the late timer has no effect', async (_name, entry) => {
    const { loop, log, script, commands, asleep } = setUp({ looks: 4, contested: true });
    loop.start();
    await until(asleep);
    if (entry === 'completions') script.polls.push(1);
    else commands.tryWrite(7, 1);
    loop.wakeUp();
    expect(log).toContain(entry);
    await until(() => asleep() && script.looks === 0);
    const entries = log.length;
    loop.endNap();
    expect(asleep()).toBe(true);
    expect(log).toHaveLength(entries);
  });

  it('one protocol that does not allow naps prevents them', async () => {
    let patient = 3;
    let hasty = 3;
    const setup = setUp({
      contested: true,
      afterWork: () => {
        if (patient-- > 0) setup.loop.askLook(true);
        if (hasty-- > 0) setup.loop.askLook(false);
      },
    });
    setup.loop.askLook(true);
    setup.loop.start();
    await until(setup.asleep);
    expect(setup.log).not.toContain('nap');
    expect(setup.log.filter((entry) => entry === 'yield')).toHaveLength(3);
  });

  it('a completion that comes while the channel is armed for a nap is taken at once', async () => {
    const setup = setUp({
      looks: 3,
      contested: true,
      armChannel: () => {
        setup.log.push('arm');
        if (!setup.log.includes('completions')) setup.script.polls.push(1);
      },
    });
    setup.loop.start();
    await until(setup.asleep);
    expect(setup.log.slice(0, 5)).toEqual(['look', 'yield', 'look', 'arm', 'completions']);
  });
});
