/** What a client's connection costs the system and the server: writes to its socket, and the account of unfinished commands. */
import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { beforeEach, expect, it, vi } from 'vitest';
import { COPIED_OUTPUT_BYTES } from '../src/limits.js';
import { Client, type ClientHost } from '../src/server/client.js';
import { UnfinishedCommands } from '../src/server/unfinished-commands.js';
import { CommandRunner } from './support/command-runner.js';
import { encodeCommand } from './support/encode.js';
import { ManualLog } from './support/manual-server.js';

/** A socket that the system reads at once. */
class FakeSocket extends EventEmitter {
  readonly written: string[] = [];
  readonly destroyed = false;
  readonly writableLength = 0;
  setNoDelay(): void {}
  cork(): void {}
  uncork(): void {}
  pause(): void {}
  resume(): void {}
  isPaused(): boolean {
    return false;
  }
  write(bytes: Buffer): void {
    this.written.push(bytes.toString('latin1'));
  }
}

const LAST_TURN = Number.MAX_SAFE_INTEGER;
let socket: FakeSocket;
let unfinished: UnfinishedCommands;
let client: Client;

beforeEach(() => {
  socket = new FakeSocket();
  unfinished = new UnfinishedCommands();
  const { executor } = new CommandRunner(new ManualLog());
  const host: ClientHost = { executor, unfinished, dispatch: () => executor.say('PONG'), closed() {} };
  client = new Client(1, socket as unknown as Socket, host, true);
});

/** Gives the client the replies of other servers, in this order. */
function answer(...replies: readonly string[]): void {
  const chunks = replies.map(() => client.expect(10));
  for (const [index, reply] of replies.entries()) client.answer(chunks[index]!, Buffer.from(reply), 10);
  client.flush(0, LAST_TURN);
}

it('small replies of several servers leave in one piece, in order', () => {
  answer('+one\r\n', '+two\r\n', '+three\r\n');
  expect(socket.written).toEqual(['+one\r\n+two\r\n+three\r\n']);
});

it('large replies are not copied, and stay in order', () => {
  const large = 'v'.repeat(COPIED_OUTPUT_BYTES);
  answer('+one\r\n', large, '+three\r\n');
  expect(socket.written).toEqual(['+one\r\n', large, '+three\r\n']);
});

it('the bytes of replies that have left do not count for the limit of replies', () => {
  const reply = 'v'.repeat(1000);
  for (let i = 0; i < 600; i += 1) answer(reply, reply);
  const pause = vi.spyOn(socket, 'pause');
  socket.emit('data', encodeCommand(['PING']));
  expect(pause).not.toHaveBeenCalled();
});

it('commands that arrive whole are not in the account of unfinished ones; one that does not arrive whole is', () => {
  const set = vi.spyOn(unfinished, 'set');
  const command = encodeCommand(['PING']);
  for (let i = 0; i < 3; i += 1) socket.emit('data', Buffer.from(command));
  expect(set).not.toHaveBeenCalled();
  socket.emit('data', Buffer.from(command.subarray(0, 5)));
  expect(unfinished.totalBytes).toBeGreaterThan(0);
  socket.emit('data', Buffer.from(command.subarray(5)));
  expect(unfinished.totalBytes).toBe(0);
});
