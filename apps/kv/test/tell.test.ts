import { EventEmitter } from 'node:events';
import { expect, it } from 'vitest';
import { tellLost } from '../src/cli/run-member.js';
import { outputOf } from '../src/cli/tell.js';

/** A process whose output and channel are what the test wants. */
function fakeProcess(isConnected: boolean) {
  const written: string[] = [];
  const stream = () => Object.assign(new EventEmitter(), { write: (line: string) => written.push(line) });
  const [stdout, stderr] = [stream(), stream()];
  const sent: unknown[][] = [];
  const send = (...args: unknown[]) => sent.push(args);
  const all = { connected: isConnected, send, stdout, stderr, exitCode: undefined as number | undefined };
  return { tell: outputOf(all as never), all, written, sent };
}

it('an event that the parent process does not get any more is not an error', () => {
  const { tell, written, sent } = fakeProcess(true);
  tell('ready', { ready: 1 });
  const [event, , , failed] = sent[0]!;
  expect(event).toEqual({ ready: 1 });
  // Without it, Node.js emits an event 'error', which ends the process.
  expect(failed).toBeInstanceOf(Function);
  expect(written).toEqual([]);
});

it('a line that nobody reads is not an error, and one that is lost otherwise is one', () => {
  const { tell, all, written } = fakeProcess(false);
  tell('ready', { ready: 1 });
  expect(written).toEqual(['ready\n']);
  for (const stream of [all.stdout, all.stderr]) stream.emit('error', { code: 'EPIPE' });
  expect(all.exitCode).toBeUndefined();
  all.stdout.emit('error', { code: 'ENOSPC' });
  expect(all.exitCode).toBe(1);
});

it('a loss is told by its type, whatever its reason says', () => {
  const told: [string | undefined, object][] = [];
  const loss = { member: 2, reason: 'it left' };
  for (const type of ['left', 'lost'] as const)
    tellLost('server 1', { type, ...loss }, (...line) => told.push(line));
  expect(told).toEqual([
    ['server 1: server 2 has left', { memberLost: { type: 'left', ...loss } }],
    ['server 1: server 2 is lost: it left', { memberLost: { type: 'lost', ...loss } }],
  ]);
});
