/** What took long: SLOWLOG and LATENCY. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it, onTestFinished, vi } from 'vitest';
import { Latency } from '../src/monitor/latency.js';
import { Monitor } from '../src/monitor/monitor.js';
import { SlowLog } from '../src/monitor/slow-log.js';
import { RequestParser } from '../src/resp/parser.js';
import { CommandRunner } from './support/command-runner.js';
import { encodeCommand } from './support/encode.js';
import { ManualLog } from './support/manual-server.js';

const CLIENT = { address: '127.0.0.1:1', name: 'me' };

function argumentsOf(...words: string[]) {
  const parser = new RequestParser();
  parser.feed(encodeCommand(words));
  parser.next();
  return parser.arguments;
}

function commandOf(name: string, isBrief: boolean, flags: readonly string[] = []) {
  const run = (): void => {};
  const keys = { route: 'here', step: 0, first: 1, merge: undefined, inSteps: false } as const;
  return { name, arity: -1, flags, isBrief, run, ...keys };
}

/** The time as the test wants it: it passes when told so. */
function ownClock(): { pass(ms: number): void } {
  let now = 1000;
  const spy = vi.spyOn(performance, 'now').mockImplementation(() => now);
  onTestFinished(() => spy.mockRestore());
  return {
    pass: (ms) => {
      now += ms;
    },
  };
}

it('the slow log keeps the latest commands from the threshold on', () => {
  const log = new SlowLog(100, 2);
  for (const ms of [0.099, 0.1, 5, 0.2]) log.add(argumentsOf('GET', `${ms}`), ms, CLIENT);
  expect([log.length, log.total]).toEqual([2, 3]);
  expect(log.latest(10)).toMatchObject([
    { id: 2, durationUs: 200, words: ['GET', '0.2'], address: '127.0.0.1:1', name: 'me' },
    { id: 1, durationUs: 5000, words: ['GET', '5'] },
  ]);
  expect(log.latest(1).map(({ id }) => id)).toEqual([2]);
  log.reset();
  expect([log.length, log.total]).toEqual([0, 3]);
});

it('the slow log shortens commands as Redis does', () => {
  const log = new SlowLog(0, 10);
  log.add(argumentsOf('DEL', ...Array.from({ length: 40 }, (_, i) => `k${i}`)), 1, CLIENT);
  log.add(argumentsOf('SET', 'k', 'v'.repeat(200)), 1, CLIENT);
  const [set, del] = log.latest(2).map(({ words }) => words);
  expect(set).toEqual(['SET', 'k', `${'v'.repeat(128)}... (72 more bytes)`]);
  expect(del).toHaveLength(32);
  expect(del!.at(-1)).toBe('... (10 more arguments)');
});

it('the slow log does not keep the arguments that it shortens', () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const heldBytes = (): number => {
    collect();
    return process.memoryUsage().heapUsed;
  };
  const log = new SlowLog(0, 100);
  const before = heldBytes();
  for (let i = 0; i < 100; i += 1) log.add(argumentsOf('SET', `k${i}`, 'v'.repeat(1_000_000)), 1, CLIENT);
  expect(heldBytes() - before).toBeLessThan(20_000_000);
  expect(log.length).toBe(100);
});

it('commands are timed only where a threshold can be reached', () => {
  const times = (options: ConstructorParameters<typeof Monitor>[0]) => {
    const { timesBrief, timesOthers } = new Monitor(options);
    return [timesBrief, timesOthers];
  };
  expect(times({})).toEqual([false, true]);
  expect(times({ slowLogUs: -1 })).toEqual([false, false]);
  expect(times({ slowLogUs: 0 })).toEqual([true, true]);
  expect(times({ slowLogUs: 999 })).toEqual([true, true]);
  expect(times({ slowLogUs: -1, latencyMs: 1 })).toEqual([true, true]);
});

it.each([
  { slowLogUs: 0, latencyMs: 0 },
  { slowLogUs: 10_000, latencyMs: 0 },
  { slowLogUs: 10_000, latencyMs: 3 },
  { slowLogUs: 2000, latencyMs: 30 },
  { slowLogUs: -1, latencyMs: 3 },
])('commands are in the lists from $slowLogUs µs and $latencyMs ms on', ({ slowLogUs, latencyMs }) => {
  const durations = [0, 0.001, 1.9994, 1.9995, 2, 2.999, 3, 9.9994, 9.9995, 10, 29.999, 30, 31];
  const slow = durations.filter((ms) => slowLogUs >= 0 && Math.round(ms * 1000) >= slowLogUs);
  const late = durations.filter((ms) => latencyMs > 0 && ms >= latencyMs);
  const monitor = new Monitor({ slowLogUs, latencyMs });
  const counted: number[] = [];
  for (const ms of durations) {
    monitor.latency.reset([]);
    monitor.ran(commandOf('scan', false), argumentsOf('SCAN', '0'), CLIENT, ms);
    if (monitor.latency.history('command').length > 0) counted.push(ms);
  }
  expect(monitor.slowLog.length).toBe(slow.length);
  expect(counted).toEqual(late);
});

it('a command whose run takes microseconds is not timed: WAIT, and those on one key', () => {
  const runner = new CommandRunner(new ManualLog(), {});
  const ran = vi.spyOn(runner.executor.node.monitor, 'ran');
  runner.turn(['SET', 'k', 'v'], ['WAIT', '3', '0'], ['GET', 'k'], ['PING'], ['ECHO', 'text']);
  expect(ran).not.toHaveBeenCalled();
  runner.turn(['SCAN', '0']);
  expect(ran).toHaveBeenCalledTimes(1);
});

it('a password is not in the slow log', () => {
  const monitor = new Monitor({ slowLogUs: 0 });
  monitor.ran(commandOf('auth', false, ['no_auth']), argumentsOf('AUTH', 'secret'), CLIENT, 1);
  expect(monitor.slowLog.length).toBe(0);
  const runner = new CommandRunner(new ManualLog(), { slowLogUs: 0 });
  expect(runner.run('CONFIG', 'SET', 'requirepass', 'secret')).toMatch(/^-ERR unknown subcommand/);
  expect(runner.executor.node.monitor.slowLog.length).toBe(0);
});

it('of a transaction, its commands are in the slow log', () => {
  const runner = new CommandRunner(new ManualLog(), { slowLogUs: 0 });
  runner.turn(['rdmc.watch', 'k'], ['rdmc.exec', 'k', '0', '3', 'SET', 'k', '1', '2', 'GET', 'k']);
  const { slowLog } = runner.executor.node.monitor;
  expect(slowLog.latest(10).map(({ words }) => words)).toEqual([
    ['GET', 'k'],
    ['SET', 'k', '1'],
  ]);
});

it('LATENCY keeps the longest event of each second, from the threshold on', () => {
  vi.useFakeTimers({ toFake: ['Date'], now: 5_000_500 });
  onTestFinished(() => {
    vi.useRealTimers();
  });
  const latency = new Latency(10);
  for (const ms of [9, 10, 30, 20]) latency.add('command', ms);
  vi.setSystemTime(5_001_000);
  latency.add('command', 12);
  latency.add('append', 11);
  expect(latency.history('command')).toEqual([
    { at: 5000, ms: 30 },
    { at: 5001, ms: 12 },
  ]);
  expect(latency.events()).toEqual([
    { event: 'command', latest: { at: 5001, ms: 12 }, longest: 30 },
    { event: 'append', latest: { at: 5001, ms: 11 }, longest: 11 },
  ]);
  expect(latency.reset(['append', 'nothing'])).toBe(1);
  expect(latency.reset([])).toBe(1);
  expect(new Latency(0).isOn).toBe(false);
});

it('a command that takes long is in the replies of SLOWLOG and LATENCY', () => {
  const clock = ownClock();
  const runner = new CommandRunner(new ManualLog(), { slowLogUs: 2000, latencyMs: 2 });
  const { keyspace } = runner;
  vi.spyOn(keyspace, 'allKeys').mockImplementation(() => {
    clock.pass(3);
    return [][Symbol.iterator]() as ReturnType<typeof keyspace.allKeys>;
  });
  vi.spyOn(keyspace, 'sizeOf').mockReturnValue(0);
  runner.run('SCAN', '0', 'COUNT', '1');
  expect(runner.run('SLOWLOG', 'LEN')).toBe(':1\r\n');
  const reply = runner.run('SLOWLOG', 'GET');
  expect(reply).toMatch(/^\*1\r\n\*6\r\n:0\r\n:\d+\r\n:\d+\r\n\*4\r\n\$4\r\nSCAN\r\n/);
  expect(runner.run('LATENCY', 'LATEST')).toMatch(
    /^\*1\r\n\*4\r\n\$7\r\ncommand\r\n:\d+\r\n:\d+\r\n:\d+\r\n$/,
  );
  expect(runner.run('LATENCY', 'DOCTOR')).toContain('command: 1 spikes');
  expect(runner.run('LATENCY', 'RESET', 'command')).toBe(':1\r\n');
  expect(runner.run('SLOWLOG', 'RESET')).toBe('+OK\r\n');
  expect(runner.run('SLOWLOG', 'LEN')).toBe(':0\r\n');
});

it('the wait for the log is an event of its own, and the lag of the replication', async () => {
  const clock = ownClock();
  const log = new ManualLog();
  const runner = new CommandRunner(log, { latencyMs: 5 });
  expect(runner.store.lag).toEqual({ appends: 0, oldestMs: 0 });
  runner.turn(['SET', 'k', '1']);
  clock.pass(4);
  runner.turn(['SET', 'k', '2']);
  clock.pass(3);
  expect(runner.store.lag).toEqual({ appends: 2, oldestMs: 7 });
  log.acknowledge();
  await new Promise(setImmediate);
  expect(runner.store.lag).toEqual({ appends: 0, oldestMs: 0 });
  const { latency } = runner.executor.node.monitor;
  expect(latency.events()).toMatchObject([{ event: 'append', longest: 7 }]);
});
