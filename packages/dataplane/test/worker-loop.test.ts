import { setImmediate as nextImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { COMMANDS_PER_TURN } from '../src/constants.js';
import { ControlWord, createControl } from '../src/control.js';
import { Counter, CounterBlock } from '../src/counters.js';
import { EventOutbox } from '../src/event-outbox.js';
import { PollPolicy } from '../src/poll-policy.js';
import { RingReader, RingWriter } from '../src/ring.js';
import { type LoopParts, WorkerLoop } from '../src/worker-loop.js';

/** A loop with a scripted device: the result of each poll, and the effect of arming the channel. */
function setUp(windowMs: number, overrides: Partial<LoopParts> = {}) {
  const control = createControl();
  const words = new Int32Array(control);
  const counters = new CounterBlock(control).values;
  const ring = (head: number, tail: number) => ({ data: new SharedArrayBuffer(4096), words, head, tail });
  const commandRing = ring(ControlWord.COMMAND_HEAD, ControlWord.COMMAND_TAIL);
  const eventRing = ring(ControlWord.EVENT_HEAD, ControlWord.EVENT_TAIL);
  const log: string[] = [];
  const polls: number[] = [];
  const outbox = new EventOutbox(new RingWriter(eventRing), words, () => log.push('signal'));
  const parts: LoopParts = {
    words,
    counters,
    commands: new RingReader(commandRing),
    outbox,
    policy: new PollPolicy(windowMs, performance.now()),
    pollBatch: () => {
      const count = polls.shift() ?? 0;
      if (count > 0) log.push(`poll ${count}`);
      return count;
    },
    armChannel: () => log.push('arm'),
    startNap: () => {},
    yieldProcessor: () => 0,
    signalApplication: () => log.push('room'),
    dispatchCompletions: (count) => log.push(`completions ${count}`),
    dispatchRefused: () => 0,
    dispatchCommand: (record) => log.push(`command ${record.tag}`),
    afterWork: () => log.push('turn'),
    ringDoorbell: () => {
      if (log.at(-1) === 'turn') log.push('doorbell');
    },
    ...overrides,
  };
  const loop = new WorkerLoop(parts);
  const asleep = () => Atomics.load(words, ControlWord.WORKER_SLEEPING) === 1;
  const untilAsleep = async () => {
    while (!asleep()) await nextImmediate();
  };
  return {
    loop,
    log,
    polls,
    counters,
    words,
    outbox,
    asleep,
    untilAsleep,
    commands: new RingWriter(commandRing),
    events: new RingReader(eventRing),
  };
}

describe('a turn', () => {
  it('takes commands and completions, then runs the handlers, then rings one doorbell', async () => {
    const { loop, log, polls, commands, untilAsleep } = setUp(0);
    commands.tryWrite(11, 1);
    commands.tryWrite(12, 2);
    polls.push(3);
    loop.start();
    await untilAsleep();
    expect(log).toEqual(['command 11', 'command 12', 'poll 3', 'completions 3', 'turn', 'doorbell', 'arm']);
  });

  it('polls between batches of commands', async () => {
    const { loop, log, polls, commands, untilAsleep } = setUp(0);
    for (let i = 0; i < COMMANDS_PER_TURN + 1; i += 1) commands.tryWrite(1, 1);
    polls.push(1);
    loop.start();
    await untilAsleep();
    expect(log.indexOf('poll 1')).toBe(COMMANDS_PER_TURN);
  });

  it('happens on request, once per request, also while the loop sleeps', async () => {
    const { loop, log, untilAsleep } = setUp(0);
    loop.start();
    await untilAsleep();
    log.length = 0;
    loop.askTurn();
    await untilAsleep();
    expect(log).toEqual(['turn', 'doorbell', 'arm']);
  });
});

describe('refused requests', () => {
  it('come before the completions of the same turn, and are work of their own', async () => {
    const refused = [0, 2];
    const { loop, log, polls, untilAsleep } = setUp(0, {
      dispatchRefused: () => {
        const count = refused.shift() ?? 0;
        if (count > 0) log.push(`refused ${count}`);
        return count;
      },
    });
    polls.push(0, 3);
    loop.start();
    await untilAsleep();
    // The first turn found nothing, so the channel was armed; the second comes before the sleep.
    expect(log).toEqual(['arm', 'refused 2', 'poll 3', 'completions 3', 'turn', 'doorbell', 'arm']);
  });
});

describe('going to sleep', () => {
  it('takes completions from between the last poll and the arming (the ibv_req_notify_cq rule)', async () => {
    const polls: number[] = [];
    let armed = 0;
    const { loop, log, untilAsleep, counters } = setUp(0, {
      pollBatch: () => polls.shift() ?? 0,
      armChannel: () => {
        armed += 1;
        if (armed === 1) polls.push(2);
      },
    });
    loop.start();
    await untilAsleep();
    expect(log).toEqual(['completions 2', 'turn', 'doorbell']);
    expect(armed).toBe(2);
    expect(counters[Counter.sleeps]).toBe(1);
  });

  it('sees a command written while it was about to sleep', async () => {
    let doorbells = 0;
    const setup = setUp(0, {
      ringDoorbell: () => {
        // The second turn is the one after arming: its look at the ring is over, the sleeping word not yet stored.
        doorbells += 1;
        if (doorbells === 2) setup.commands.tryWrite(9, 1);
      },
    });
    setup.loop.start();
    await setup.untilAsleep();
    expect(setup.log).toContain('command 9');
  });

  it('wakes for a signal, counts it, and ignores signals while awake', async () => {
    const { loop, log, commands, untilAsleep, counters } = setUp(0);
    loop.start();
    loop.wakeUp();
    await untilAsleep();
    commands.tryWrite(7, 1);
    loop.wakeUp();
    await untilAsleep();
    expect(log).toContain('command 7');
    expect(counters[Counter.wakeups]).toBe(1);
    expect(counters[Counter.sleeps]).toBe(2);
  });

  it('is counted last, so that another thread that sees it sees the other counters', async () => {
    const written: (string | symbol)[] = [];
    const counters = new Proxy(new Float64Array(Object.keys(Counter).length), {
      get: (values, name) => Reflect.get(values, name),
      set: (values, name, value) => {
        written.push(name);
        return Reflect.set(values, name, value);
      },
    });
    const { loop, untilAsleep } = setUp(0, { counters });
    loop.start();
    await untilAsleep();
    expect(written.at(-1)).toBe(String(Counter.sleeps));
    expect(written.filter((name) => name === String(Counter.sleeps))).toHaveLength(1);
  });

  it('keeps polling with a window of Infinity and lets the event loop run', async () => {
    const { loop, log, counters, asleep } = setUp(Number.POSITIVE_INFINITY);
    loop.start();
    while (counters[Counter.emptyPolls]! < 1000) await nextImmediate();
    expect(asleep()).toBe(false);
    expect(log).not.toContain('arm');
    await loop.stop();
  });

  it('goes to sleep at once if the processor is contested', async () => {
    const { loop, untilAsleep, counters } = setUp(1e9, { yieldProcessor: () => 5e6 });
    loop.start();
    await untilAsleep();
    expect(counters[Counter.contested]).toBe(1);
    expect(counters[Counter.emptyPolls]).toBeLessThan(5);
  });
});

describe('a full event ring', () => {
  it('stops commands and polling until the application has drained it, and does not lose events', async () => {
    const payload = new Uint8Array(900);
    const setup = setUp(0, {
      dispatchCommand: (record) => void setup.outbox.send(record.tag, 0, payload),
    });
    const { loop, polls, commands, events, words, counters, untilAsleep, log } = setup;
    for (let i = 1; i <= 8; i += 1) commands.tryWrite(i, 1);
    polls.push(1);
    loop.start();
    await untilAsleep();
    expect(polls).toHaveLength(1);
    const taken = counters[Counter.commands]!;
    expect(taken).toBeLessThan(8);
    expect(Atomics.load(words, ControlWord.EVENT_ROOM_WANTED)).toBe(1);
    loop.wakeUp();
    await untilAsleep();
    expect(counters[Counter.commands]).toBe(taken);
    expect(polls).toHaveLength(1);
    expect(log).toContain('signal');

    const received: number[] = [];
    while (received.length < 8) {
      while (events.next()) received.push(events.tag);
      Atomics.store(words, ControlWord.EVENT_ROOM_WANTED, 0);
      loop.wakeUp();
      await untilAsleep();
    }
    expect(received).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    expect(polls).toHaveLength(0);
  });

  it('that is drained just before the worker sleeps does not leave it asleep', async () => {
    const { loop, outbox, events, words } = setUp(0);
    const numbers: number[] = [];
    const flush = outbox.flush.bind(outbox);
    outbox.flush = () => {
      const flushed = flush();
      // Room was asked for, and the sleeping word is not stored: the application sends no signal.
      if (!flushed && Atomics.exchange(words, ControlWord.EVENT_ROOM_WANTED, 0) === 1) {
        while (events.next()) numbers.push(events.tag);
      }
      return flushed;
    };
    for (let i = 0; i < 6; i += 1) outbox.send(i, 0, new Uint8Array(900));
    loop.start();
    while (outbox.blocked) await nextImmediate();
    while (events.next()) numbers.push(events.tag);
    expect(numbers).toEqual([0, 1, 2, 3, 4, 5]);
  });

  it('ends only when the backlog is in the ring', async () => {
    const { loop, outbox, events, words, untilAsleep } = setUp(0);
    for (let i = 0; i < 6; i += 1) outbox.send(i, 0, new Uint8Array(900));
    let stopped = false;
    const stop = loop.stop().then(() => {
      stopped = true;
    });
    loop.start();
    await untilAsleep();
    expect(stopped).toBe(false);
    let received = 0;
    while (events.next()) received += 1;
    Atomics.store(words, ControlWord.EVENT_ROOM_WANTED, 0);
    loop.wakeUp();
    await stop;
    while (events.next()) received += 1;
    expect(received).toBe(6);
  });
});
