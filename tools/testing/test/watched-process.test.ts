import { spawn } from 'node:child_process';
import { expect, it } from 'vitest';
import { jsonLine, rejection, underTest, WatchedProcess } from '../src/index.js';

type Event = { event: 'started'; id: number } | { event: 'ended' };

/** A process that runs this program. */
function run(program: string, deadlineMs?: number): WatchedProcess<Event, 'event'> {
  const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'pipe', 'ipc'] });
  const watch = { name: 'the program', parse: jsonLine<Event>, ...(deadlineMs && { deadlineMs }) };
  return underTest(new WatchedProcess<Event, 'event'>(child, 'event', watch));
}

it('finds past and future events, in its output and its messages', async () => {
  const watched = run(`
    console.log(JSON.stringify({ event: 'started', id: 1 }));
    console.log(JSON.stringify({ event: 'started', id: 2 }));
    process.on('message', () => { process.send({ event: 'ended' }); process.disconnect(); });`);
  expect(await watched.event('started', ({ id }) => id === 2)).toEqual({ event: 'started', id: 2 });
  expect((await watched.event('started')).id).toBe(1);
  watched.tell({});
  await watched.event('ended');
  expect(await watched.exited).toEqual({ code: 0, signal: null });
  expect(watched.events).toHaveLength(3);
});

it('reports the last events if it ends without the awaited one', async () => {
  const watched = run(`process.send({ event: 'started', id: 7 }, () => {
    console.error('no more'); process.disconnect(); process.exitCode = 3; });`);
  const error = await rejection(watched.event('ended'));
  expect(error.message).toMatch(/its 'ended' did not come: the program \(process \d+\) ended with 3/);
  expect(error.message).toContain('{"event":"started","id":7}');
  expect(error.message).toContain('no more');
});

it('fails at its deadline, and can be killed', async () => {
  const watched = run('setInterval(() => {}, 1000)', 1);
  await expect(watched.event('ended')).rejects.toThrow("its 'ended' did not come within 1 ms");
  expect(await watched.kill()).toEqual({ code: null, signal: 'SIGKILL' });
  expect(await watched.kill()).toEqual({ code: null, signal: 'SIGKILL' });
});
