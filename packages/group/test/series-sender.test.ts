import { Deferred } from '@rdmc/common';
import { type Group, SeriesSender } from '@rdmc/group';
import { expect, it } from 'vitest';

/** A root's group whose sends resolve when the test says so. */
function testGroup(first: number) {
  const controller = new AbortController();
  const sends: Deferred<void>[] = [];
  const send = (): Promise<void> => {
    const sent = new Deferred<void>();
    sends.push(sent);
    return sent.promise;
  };
  const given = { id: 1, isRoot: true, first, signal: controller.signal, send, assertOneSender: () => {} };
  const group = given as unknown as Group;
  const fail = (): void => {
    const failure = new Error('the group failed');
    for (const each of sends) each.reject(failure);
    controller.abort(failure);
  };
  return { group, sends, fail };
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

it('a message that was sent before an earlier one is settled only when the next group has sent it again', async () => {
  const sender = new SeriesSender();
  const old = testGroup(0);
  sender.use(old.group);
  const numbers: number[] = [];
  // A long message, and a small one, which is in the ring at once.
  const sending = [new Uint8Array(9000), Uint8Array.of(1)].map(async (message) => {
    numbers.push(await sender.send(message));
  });
  old.sends[1]!.resolve();
  await settled();
  expect(sender.first).toBe(0);
  old.fail();
  await settled();

  const next = testGroup(sender.first);
  sender.use(next.group);
  expect(next.sends).toHaveLength(2);
  next.sends[0]!.resolve();
  await settled();
  expect([numbers, sender.first]).toEqual([[0], 1]);
  next.sends[1]!.resolve();
  await Promise.all(sending);
  expect([numbers, sender.first]).toEqual([[0, 1], 2]);
});

it('what the group before the present one says late does not count', async () => {
  const sender = new SeriesSender();
  const old = testGroup(0);
  sender.use(old.group);
  const sending = sender.send(Uint8Array.of(1));
  old.sends[0]!.resolve();
  old.fail();
  const next = testGroup(0);
  sender.use(next.group);
  await settled();
  expect(sender.first).toBe(0);
  next.sends[0]!.resolve();
  expect(await sending).toBe(0);
});
