import { watchedTrace } from '@rdmc/testing';
import { expect, it } from 'vitest';
import { place, rejection } from './helpers.js';

it('traces joins, with their outcomes', async () => {
  const joins = watchedTrace('@rdmc/mesh:join');
  const { join } = await place(2);
  const meshes = await Promise.all([join(0).mesh, join(1).mesh]);
  expect(joins).toEqual([0, 1].map((id) => ({ id, members: 2, result: meshes[id] })));
  const other = await place(2);
  const error = await rejection(other.join(0, { timeoutMs: 20 }).mesh);
  expect(joins.at(-1)).toEqual({ id: 0, members: 2, error });
});
