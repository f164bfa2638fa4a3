/** When requests to other servers leave: with connections that are in the test's hand. */
import { setImmediate as turn } from 'node:timers/promises';
import type { FrameHandler, MeshConnection } from '@rdmc/mesh';
import { beforeEach, expect, it } from 'vitest';
import { PeerFrame, requestsIn, u32 } from '../src/cluster/peer-frames.js';
import type { Asker } from '../src/cluster/peer-link.js';
import { PeerLinks } from '../src/cluster/peer-links.js';
import { encodeCommand } from './support/encode.js';

/** Another server that answers when it is told to. */
class FakeConnection {
  readonly signal = new AbortController().signal;
  readonly isOpen = true;
  /** The ids of the requests of each frame. */
  readonly frames: number[][] = [];
  #take: FrameHandler = () => {};

  receive(_maxFrameBytes: number, take: FrameHandler): void {
    this.#take = take;
  }

  send(_type: number, ...parts: readonly Buffer[]): void {
    this.frames.push([...requestsIn(Buffer.concat(parts))].map(({ id }) => id));
  }

  answer(id: number): void {
    const reply = Buffer.from('+OK\r\n');
    void this.#take({ type: PeerFrame.REPLIES, payload: Buffer.concat([u32(id), u32(reply.length), reply]) });
  }
}

const asker: Asker = { refused() {}, lost() {} };
let connections: Map<number, FakeConnection>;
let links: PeerLinks;
let replies: number;

beforeEach(async () => {
  connections = new Map([2, 3].map((member) => [member, new FakeConnection()]));
  const openConnection = async (member: number) => connections.get(member) as unknown as MeshConnection;
  links = new PeerLinks({ openConnection, peers: new Map() });
  await links.connect([2, 3]);
  replies = 0;
});

function ask(member: number): void {
  const done = (): void => {
    replies += 1;
  };
  const bytes = encodeCommand(['SET', 'k', 'v']);
  links.link(member)!.send({ slot: 0, version: 2, writes: true, bytes, done }, 1, asker);
}

it('requests leave at once where none is unanswered', () => {
  const other = connections.get(2)!;
  for (let id = 1; id <= 3; id += 1) {
    ask(2);
    links.flush();
    expect(other.frames.length).toBe(id);
    other.answer(id);
  }
  expect(replies).toBe(3);
});

it('while a request is unanswered, the requests of a turn are in one frame with those of the next', async () => {
  const [two, three] = [connections.get(2)!, connections.get(3)!];
  ask(2);
  links.flush();
  ask(2);
  ask(3);
  links.flush();
  ask(2);
  ask(3);
  links.flush();
  expect([two.frames, three.frames]).toEqual([[[1]], []]);
  await turn();
  expect([two.frames, three.frames]).toEqual([[[1], [2, 3]], [[1, 2]]]);
});

it('requests do not wait for an answer', async () => {
  const other = connections.get(2)!;
  for (let i = 0; i < 3; i += 1) {
    ask(2);
    links.flush();
    await turn();
  }
  expect(other.frames).toEqual([[1], [2], [3]]);
  for (const id of [3, 1, 2]) other.answer(id);
  expect(replies).toBe(3);
  ask(2);
  links.flush();
  expect(other.frames.at(-1)).toEqual([4]);
});
