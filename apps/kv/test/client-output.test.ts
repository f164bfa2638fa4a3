/** What a client's connection costs the system and the server: writes to its socket, and the account of unfinished commands. */
import type { Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { COPIED_OUTPUT_BYTES, MAX_OUTPUT_BYTES, MAX_UNAUTHENTICATED_OUTPUT_BYTES } from '../src/limits.js';
import { Client, type ClientHost } from '../src/server/client.js';
import { UnfinishedCommands } from '../src/server/unfinished-commands.js';
import { CommandRunner } from './support/command-runner.js';
import { encodeCommand } from './support/encode.js';
import { FakeSocket } from './support/fake-socket.js';
import { ManualLog } from './support/manual-server.js';

const LAST_TURN = Number.MAX_SAFE_INTEGER;
let socket: FakeSocket;
let unfinished: UnfinishedCommands;
let client: Client;
let connect: (authenticated: boolean) => void;
/** Does what the command in the client's parser asks for. */
let dispatch: () => void;

beforeEach(() => {
  socket = new FakeSocket();
  unfinished = new UnfinishedCommands();
  const { executor } = new CommandRunner(new ManualLog());
  dispatch = () => executor.say('PONG');
  const host: ClientHost = { executor, unfinished, dispatch: () => dispatch(), closed() {} };
  connect = (authenticated) => {
    client = new Client(1, socket as unknown as Socket, host, authenticated);
  };
  connect(true);
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

it('what is kept for replies that are not whole counts: for the limit of replies, and for the end of the connection', () => {
  const pause = vi.spyOn(socket, 'pause');
  expect(client.hold(MAX_OUTPUT_BYTES)).toBe(true);
  socket.emit('data', encodeCommand(['PING']));
  expect(pause).toHaveBeenCalledOnce();
  expect(client.hold(1)).toBe(false);
  expect(socket.destroyed).toBe(true);
});

it('a short reply does not keep the frame in which it came, while it waits for others or for the client', () => {
  const frame = Buffer.alloc(100 * COPIED_OUTPUT_BYTES, 'x');
  const write = vi.spyOn(socket, 'write');
  const [first, second] = [client.expect(10), client.expect(10)];
  client.answer(second, frame.subarray(5, 10), 10);
  expect(client.flush(0, LAST_TURN)).toBe(true);
  expect(second.bytes!.buffer.byteLength).toBeLessThan(COPIED_OUTPUT_BYTES);
  client.answer(first, Buffer.from('+one\r\n'), 10);
  client.flush(0, LAST_TURN);
  socket.writableLength = 1;
  const third = client.expect(10);
  client.answer(third, frame.subarray(5, 10), 10);
  client.flush(0, LAST_TURN);
  expect(socket.written).toEqual(['+one\r\nxxxxx', 'xxxxx']);
  for (const [bytes] of write.mock.calls) expect(bytes.buffer.byteLength).toBeLessThan(COPIED_OUTPUT_BYTES);
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

it.each([
  ['ends the connection', 'QUIT\r\n'],
  ['is malformed', '*x\r\n'],
])('nothing is kept of what comes after a command that waited and %s', async (_, last) => {
  let held: ReturnType<Client['expect']> | undefined;
  dispatch = () => {
    if (client.parser.arguments.string(0) === 'QUIT') client.quit();
    else held = client.expect(10, true);
  };
  socket.emit('data', Buffer.from(`WATCH a\r\n${last}`));
  expect(socket.isPaused()).toBe(true);
  client.answer(held!, Buffer.from('+OK\r\n'), 10);
  client.flush(0, LAST_TURN);
  await turn();
  // The end of the connection must be seen.
  expect(socket.isPaused()).toBe(false);
  for (let i = 0; i < 10; i += 1) socket.emit('data', Buffer.alloc(10_000, 'x'));
  expect([client.parser.heldBytes, unfinished.totalBytes]).toEqual([0, 0]);
});

describe('a client that never gave the password', () => {
  const ping = encodeCommand(['PING']);

  async function sends(count: number, commands = ping): Promise<number> {
    let sent = 0;
    for (; sent < count && !socket.destroyed; sent += 1) {
      socket.emit('data', Buffer.from(commands));
      await turn();
    }
    return sent;
  }

  it.each([
    ['one by one', 1],
    ['many at once', 1000],
  ])(
    'is disconnected where it leaves replies unread, and nothing more is kept: commands %s',
    async (_, together) => {
      socket = new FakeSocket(false);
      connect(false);
      await sends(10_000, Buffer.concat(Array<Buffer>(together).fill(ping)));
      expect(socket.destroyed).toBe(true);
      expect(socket.writableLength).toBeLessThanOrEqual(MAX_UNAUTHENTICATED_OUTPUT_BYTES);
      expect([client.parser.heldBytes, unfinished.totalBytes]).toEqual([0, 0]);
    },
  );

  it('sends as many commands as it likes where it reads the replies', async () => {
    connect(false);
    expect(await sends(3000)).toBe(3000);
    expect(socket.destroyed).toBe(false);
  });

  it('is not one that gave it, and has many replies from before RESET', async () => {
    socket = new FakeSocket(false);
    connect(true);
    answer('v'.repeat(2 * MAX_UNAUTHENTICATED_OUTPUT_BYTES));
    client.authenticated = false;
    await sends(1);
    expect(socket.destroyed).toBe(false);
  });
});
