import { join } from 'node:path';
import { castFiles } from '@rdmc/cast';
import { rejection, temporaryDirectory, until, watchedTrace } from '@rdmc/testing';
import { expect, it } from 'vitest';
import { startReceivers } from './support/receivers.js';
import { write } from './support/tree.js';

it('traces casts at the sender and at its receivers, with their outcomes', async () => {
  const [casts, receptions] = [watchedTrace('@rdmc/cast:cast'), watchedTrace('@rdmc/cast:receive')];
  const from = temporaryDirectory();
  write(from, 'file', 'content');
  const receivers = await startReceivers(2);
  const to = receivers.map((each) => each.to);
  const names = to.map(({ host, port }) => `${host}:${port}`);
  const summary = await castFiles([join(from, 'file')], { to }).finished;
  expect(casts).toEqual([{ paths: 1, receivers: names, result: summary }]);
  await until(() => receptions.length === 2 && receptions.every((each) => 'result' in each));
  for (const each of receptions) expect(each).toMatchObject({ files: 1, bytes: 7 });

  await receivers[1]!.receiver.close();
  const error = await rejection(
    castFiles([join(from, 'file')], { to: [to[1]!], connectTimeoutMs: 100 }).finished,
  );
  expect(casts.at(-1)).toEqual({ paths: 1, receivers: [names[1]], error });
});

it('traces the failure of a cast at its receiver', async () => {
  const receptions = watchedTrace('@rdmc/cast:receive');
  const from = temporaryDirectory();
  write(from, 'file', 'content');
  const [receiver] = await startReceivers(1);
  write(receiver!.directory, 'file/in-the-way', 'a directory of this name');
  await castFiles([join(from, 'file')], { to: [receiver!.to] }).finished.catch(() => {});
  await until(() => receptions.length === 1 && ('result' in receptions[0]! || 'error' in receptions[0]!));
});
