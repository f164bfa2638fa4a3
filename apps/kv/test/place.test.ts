import { expect, it } from 'vitest';
import { placeOf } from '../src/node/join-cluster.js';

const members = [0, 1, 2, 3].map((id) => ({ id, host: '127.0.0.1', port: 7000 + id }));
const joinOf = (id: number) => placeOf(id, { members, directory: '/nowhere' }).join;

// One that was just started does not know the incarnation of a server's former process, and a server without files has none.
it('a server asks the other servers before the coordinator', () => {
  expect(joinOf(2)).toEqual(['127.0.0.1:7001', '127.0.0.1:7003', '127.0.0.1:7000']);
  expect(joinOf(0)).toEqual([]);
});
