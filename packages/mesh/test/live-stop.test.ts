/** A process that is told that its id belongs to another process, or that it was removed. */
import { expect, it } from 'vitest';
import { hide, thrown } from './helpers.js';
import { assertOrdered, converged, enter, grow, type Live } from './live-helpers.js';

/** Codes of losses that a member reports because it stops. */
const STOPS = ['ERR_RDMC_REPLACED', 'ERR_RDMC_MESH_EVICTED'];

/**
 * Why the member stops. The others tell it, and end its connections: it must stop by that, and not report them as lost and
 * reach for them again.
 */
function stopped({ mesh }: Live): Promise<unknown> {
  return new Promise((resolve, reject) => {
    mesh.signal.addEventListener('abort', () => resolve(mesh.signal.reason));
    mesh.onMember((event) => {
      if (event.type === 'lost' && !STOPS.includes(event.code))
        reject(new Error(`it goes on: ${JSON.stringify(event)}`));
    });
  });
}

it('replace: true: the older one stops with ERR_RDMC_REPLACED', async () => {
  const [a, b, c] = await grow(3);
  const stops = stopped(c!);
  // The end of its connections must not come before the news of the newer process.
  hide(c!.core);
  const next = await enter(2, [a!], { replace: true });
  expect(await stops).toMatchObject({ code: 'ERR_RDMC_REPLACED' });
  expect(next.mesh.incarnation).toBe(2);
  const lost = c!.events.filter(({ type }) => type === 'lost');
  expect(lost.map(({ member }) => member).sort()).toEqual([0, 1]);
  expect(thrown(() => c!.mesh.send(0, 'x', 1)).code).toBe('ERR_RDMC_REPLACED');
  await converged([a!, b!, next]);
  for (const each of [a!, b!]) {
    assertOrdered(each);
    const seen = each.events.filter(({ member }) => member === 2);
    expect(seen.map(({ type, incarnation }) => [type, incarnation])).toEqual([
      ['joined', 1],
      ['lost', 1],
      ['joined', 2],
    ]);
    expect(seen[1]).toMatchObject({ code: 'ERR_RDMC_REPLACED' });
  }
});

it('a removed member stops, and may join again', async () => {
  const [a, b, c] = await grow(3);
  const stops = stopped(c!);
  a!.mesh.remove(2);
  expect(await stops).toMatchObject({ code: 'ERR_RDMC_MESH_EVICTED' });
  expect(thrown(() => c!.mesh.send(0, 'x', 1)).code).toBe('ERR_RDMC_MESH_EVICTED');
  await c!.mesh.closed;
  await converged([a!, b!]);
  const back = await enter(2, [b!]);
  expect(back.mesh.incarnation).toBe(2);
  await converged([a!, b!, back]);
});
