/** When requests to other servers leave: with connections that are in the test's hand. */
import { setImmediate as turn } from 'node:timers/promises';
import { Deferred, within } from '@rdmc/common';
import type { FrameHandler, Mesh, MeshConnection } from '@rdmc/mesh';
import { beforeEach, expect, it, vi } from 'vitest';
import { PeerFrame, requestsIn, u32 } from '../src/cluster/peer-frames.js';
import type { Asker } from '../src/cluster/peer-link.js';
import { PeerLinks } from '../src/cluster/peer-links.js';
import {
  COPIED_REQUEST_BYTES,
  PEER_BUSY_REQUESTS,
  PEER_COLLECT_SHARE,
  PEER_COLLECT_TURNS,
} from '../src/limits.js';
import { encodeCommand } from './support/encode.js';
import { RECEIVER } from './support/fake-link.js';

/** Another server that answers when it is told to. */
class FakeConnection {
  readonly signal = new AbortController().signal;
  readonly isOpen = true;
  /** The ids of the requests of each frame. */
  readonly frames: number[][] = [];
  readonly commands: string[] = [];
  #take: FrameHandler = () => {};

  receive(_maxFrameBytes: number, take: FrameHandler): void {
    this.#take = take;
  }

  send(_type: number, ...parts: readonly Buffer[]): void {
    const requests = [...requestsIn(Buffer.concat(parts))];
    this.frames.push(requests.map(({ id }) => id));
    this.commands.push(...requests.map(({ bytes }) => bytes.toString()));
  }

  answer(id: number): void {
    const reply = Buffer.from('+OK\r\n');
    void this.#take({ type: PeerFrame.REPLIES, payload: Buffer.concat([u32(id), u32(reply.length), reply]) });
  }
}

const asker: Asker = { answered() {}, refused() {}, lost() {} };
let connections: Map<number, FakeConnection>;
let links: PeerLinks;
let replies: number;

beforeEach(async () => {
  connections = new Map([2, 3].map((member) => [member, new FakeConnection()]));
  const openConnection = async (member: number) => connections.get(member) as unknown as MeshConnection;
  const peers = new Map([2, 3].map((id) => [id, { id, state: 'connected' as const }]));
  links = new PeerLinks({ openConnection, peers: peers as unknown as Mesh['peers'] });
  await Promise.all([2, 3].map((member) => links.reach(member)));
  replies = 0;
});

function ask(member: number, { value = 'v', epoch = 1 } = {}): void {
  const done = (): void => {
    replies += 1;
  };
  const bytes = encodeCommand(['SET', 'k', value]);
  links
    .link(member)!
    .send({ slot: 0, version: 2, receiver: RECEIVER, writes: true, bytes, done }, epoch, asker);
}

/** Makes the servers as busy as they can be without a delay of requests: `member` has the first ids. */
function keepBusy(member: number): number[] {
  const ids = Array.from({ length: PEER_BUSY_REQUESTS }, (_, index) => index + 1);
  for (const _ of ids) ask(member);
  links.flush();
  return ids;
}

it('requests leave at once where few are unanswered', () => {
  const other = connections.get(2)!;
  for (let id = 1; id <= PEER_BUSY_REQUESTS; id += 1) {
    ask(2);
    links.flush();
    expect(other.frames.length).toBe(id);
  }
  for (let id = 1; id <= PEER_BUSY_REQUESTS; id += 1) other.answer(id);
  expect(replies).toBe(PEER_BUSY_REQUESTS);
});

it('where many are unanswered, the requests of several turns are in one frame for each server', async () => {
  const [two, three] = [connections.get(2)!, connections.get(3)!];
  const busy = keepBusy(2);
  ask(2);
  ask(3);
  links.flush();
  for (let turns = 1; turns < PEER_COLLECT_TURNS; turns += 1) await turn();
  ask(2);
  ask(3);
  links.flush();
  expect([two.frames, three.frames]).toEqual([[busy], []]);
  await turn();
  const next = busy.length + 1;
  expect([two.frames, three.frames]).toEqual([[busy, [next, next + 1]], [[1, 2]]]);
});

it('requests are not collected any longer when they are half of those that clients usually have here', async () => {
  const other = connections.get(2)!;
  const busy = keepBusy(2);
  const half = Array.from(
    { length: busy.length * PEER_COLLECT_SHARE },
    (_, index) => busy.length + 1 + index,
  );
  for (const _ of half.slice(1)) ask(2);
  links.flush();
  await turn();
  expect(other.frames).toEqual([busy]);
  ask(2);
  links.flush();
  await turn();
  expect(other.frames).toEqual([busy, half]);
});

it('short and long commands leave in order, each whole', () => {
  const words = ['a', 'x'.repeat(COPIED_REQUEST_BYTES), 'b', 'y'.repeat(COPIED_REQUEST_BYTES - 100), 'c'];
  const commands = Array.from({ length: 40 }, () => words).flat();
  for (const word of commands) ask(2, { value: word });
  links.link(2)!.flush();
  const sent = connections.get(2)!.commands;
  expect(sent).toEqual(commands.map((word) => encodeCommand(['SET', 'k', word]).toString()));
  ask(2, { value: 'again' });
  links.link(2)!.flush();
  expect(sent.at(-1)).toBe(encodeCommand(['SET', 'k', 'again']).toString());
});

it('no turn passes for requests to come where none was collected', () => {
  keepBusy(2);
  const passes = vi.spyOn(globalThis, 'setImmediate');
  links.flush();
  expect(passes).not.toHaveBeenCalled();
  passes.mockRestore();
});

it('tells when it has sent what it collected', async () => {
  const states: boolean[] = [];
  links.onSent(() => states.push(links.isCollecting));
  keepBusy(2);
  expect([links.isCollecting, states]).toEqual([false, []]);
  ask(2);
  links.flush();
  expect(links.isCollecting).toBe(true);
  for (let turns = 0; turns < PEER_COLLECT_TURNS; turns += 1) await turn();
  expect(states).toEqual([false]);
});

it('requests do not wait for an answer, and leave at once again after the answers', async () => {
  const other = connections.get(2)!;
  const busy = keepBusy(2);
  ask(2);
  links.flush();
  for (let turns = 0; turns < PEER_COLLECT_TURNS; turns += 1) await turn();
  const next = busy.length + 1;
  expect(other.frames).toEqual([busy, [next]]);
  for (const id of [next, ...busy]) other.answer(id);
  expect(replies).toBe(next);
  ask(2);
  links.flush();
  expect(other.frames.at(-1)).toEqual([next + 1]);
});

it('a frame has the requests of one slot table', () => {
  ask(2);
  ask(2);
  ask(2, { epoch: 2 });
  links.flush();
  expect(connections.get(2)!.frames).toEqual([[1, 2], [3]]);
});

it('connects to many servers at once without a warning of a leak', async () => {
  const warned = vi.spyOn(process, 'emitWarning');
  const members = Array.from({ length: 20 }, (_, index) => index + 1);
  const opened = new Deferred<void>();
  const openConnection: Mesh['openConnection'] = async (_member, _purpose, { signal } = {}) => {
    await within(opened.promise, { signal });
    return new FakeConnection() as unknown as MeshConnection;
  };
  const peers = new Map(members.map((id) => [id, { id, state: 'connected' as const }]));
  const many = new PeerLinks({ openConnection, peers: peers as unknown as Mesh['peers'] });
  const reached = members.map((member) => many.reach(member));
  opened.resolve();
  await Promise.all(reached);
  expect(warned).not.toHaveBeenCalled();
  warned.mockRestore();
});
