import { subscription } from '@rdmc/common';
import type { Mesh } from '@rdmc/mesh';
import { describe, expect, it } from 'vitest';
import { TopicDirectory } from '../src/index.js';

interface Message {
  readonly type: 'begin' | 'withdraw' | 'other';
  readonly subject: number;
  readonly use: string;
}

const MAX_WAITING = 3;

/** A directory, and the listeners that the mesh would call. */
function rig(incarnation = 0) {
  let take: (from: number, body: unknown) => void = () => {};
  let lost: (failure: { member: number }) => void = () => {};
  let told: (event: { type: string; member: number }) => void = () => {};
  const sent: number[] = [];
  const failed = new Map<number, object>();
  const states = new Map<number, { state: string }>([
    [1, { state: 'connected' }],
    [2, { state: 'left' }],
    [3, { state: 'connected' }],
  ]);
  const mesh = {
    peers: states,
    onMessage: (_: string, listener: typeof take) => {
      take = listener;
      return subscription(() => {});
    },
    onFailure: (listener: typeof lost) => {
      lost = listener;
      return subscription(() => {});
    },
    onLeave: () => subscription(() => {}),
    onMember: (listener: typeof told) => {
      told = listener;
      return subscription(() => {});
    },
    incarnation,
    failed,
    send(to: number) {
      if (to === 3) throw Object.assign(new Error('gone'), { code: 'ERR_RDMC_MESH_MEMBER_LOST' });
      sent.push(to);
    },
  };
  const directory = new TopicDirectory<Message, number>(mesh as unknown as Mesh, {
    topic: 'test',
    parse: (body) => (typeof body === 'object' ? (body as Message) : undefined),
    subjectOf: ({ subject }) => subject,
    waits: ({ type }) => type === 'begin',
    withdraws: ({ type, use }, waiting) => type === 'withdraw' && use === waiting.use,
    maxWaiting: MAX_WAITING,
  });
  const begin = (subject: number, use = 'a'): Message => ({ type: 'begin', subject, use });
  return {
    directory,
    sent,
    begin,
    take: (from: number, body: unknown) => take(from, body),
    lose: (member: number) => {
      failed.set(member, {});
      lost({ member });
    },
    join: (member: number) => {
      failed.delete(member);
      states.set(member, { state: 'connected' });
      told({ type: 'joined', member });
    },
    /** The mesh knows the member, and is not connected to it. */
    introduce: (member: number) => void states.set(member, { state: 'failed' }),
  };
}

describe('a topic directory', () => {
  it('dispatches messages to the participant of their subject', () => {
    const { directory, take, begin } = rig();
    const taken: [number, Message][] = [];
    const participant = { take: (from: number, message: Message) => taken.push([from, message]) > 0 };
    expect(directory.register(7, participant)).toBe(true);
    expect(directory.register(7, { take: () => true })).toBe(false);
    take(1, begin(7));
    take(1, begin(8));
    take(1, 'malformed');
    expect(taken).toEqual([[1, begin(7)]]);
    directory.unregister(7, { take: () => true });
    take(1, begin(7));
    expect(taken).toHaveLength(2);
    directory.unregister(7, participant);
    take(1, begin(7));
    expect(taken).toHaveLength(2);
  });

  it('keeps the latest waiting message of each member until a participant takes it', () => {
    const { directory, take, begin } = rig();
    take(1, begin(7, 'old'));
    take(1, begin(7, 'new'));
    take(2, begin(7));
    take(2, { type: 'other', subject: 7, use: 'a' });
    expect([...directory.takeWaiting(7)]).toEqual([
      [1, begin(7, 'new')],
      [2, begin(7)],
    ]);
    expect(directory.takeWaiting(7).size).toBe(0);
  });

  it('keeps messages that its participant does not take', () => {
    const { directory, take, begin } = rig();
    directory.register(7, { take: () => false });
    take(1, begin(7));
    expect(directory.takeWaiting(7).size).toBe(1);
  });

  it('drops a withdrawn message, but not for another use of the subject', () => {
    const { directory, take, begin } = rig();
    take(1, begin(7));
    take(2, begin(7));
    take(1, { type: 'withdraw', subject: 7, use: 'a' });
    take(2, { type: 'withdraw', subject: 7, use: 'b' });
    take(3, { type: 'withdraw', subject: 7, use: 'a' });
    expect([...directory.takeWaiting(7).keys()]).toEqual([2]);
  });

  it('drops the messages of lost members, and bounds the messages of one member', () => {
    const { directory, take, lose, begin } = rig();
    const all = Array.from({ length: MAX_WAITING + 2 }, (_, subject) => subject);
    for (const subject of all) take(1, begin(subject));
    take(2, begin(0));
    lose(2);
    expect(all.map((subject) => directory.takeWaiting(subject).size)).toEqual([1, 1, 1, 0, 0]);
    take(1, begin(9));
    expect(directory.takeWaiting(9).size).toBe(1);
  });

  it('keeps messages for a newcomer until it is connected, in order and within the bound', () => {
    const { directory, sent, begin, introduce, join } = rig(1);
    introduce(5);
    for (let count = 0; count < MAX_WAITING + 2; count += 1) directory.send(5, begin(count));
    directory.send(6, begin(1));
    expect(sent).toEqual([]);
    join(5);
    expect(sent).toEqual(Array.from({ length: MAX_WAITING }, () => 5));
    join(5);
    join(6);
    expect(sent.length).toBe(MAX_WAITING);
  });

  it('keeps nothing for a member that was lost, and nothing in a fixed list', () => {
    const live = rig(1);
    live.introduce(5);
    live.directory.send(5, live.begin(1));
    live.lose(5);
    live.directory.send(5, live.begin(2));
    live.join(5);
    expect(live.sent).toEqual([]);
    const fixed = rig(0);
    fixed.introduce(5);
    fixed.directory.send(5, fixed.begin(1));
    fixed.join(5);
    expect(fixed.sent).toEqual([]);
  });

  it('sends to connected members only', () => {
    const { directory, sent, begin } = rig();
    for (const to of [1, 2, 3, 4]) directory.send(to, begin(7));
    expect(sent).toEqual([1]);
  });
});
