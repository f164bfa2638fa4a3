import { expect, it } from 'vitest';
import { MeshError } from '../src/index.js';
import { Ending } from '../src/live/ending.js';
import { thrown } from './helpers.js';

function ending() {
  const stops: MeshError[] = [];
  return { stops, ending: new Ending(2, (error) => stops.push(error)) };
}

it.each(['ERR_RDMC_REPLACED', 'ERR_RDMC_MESH_EVICTED'] as const)(
  'a process that is told %s stops once, with that error',
  (code) => {
    const { stops, ending: end } = ending();
    const holder = { host: 'n2', pid: 7 };
    end.stopIfTold({ code, message: 'the text of the peer', holder });
    end.stopIfTold({ code, message: 'again' });
    expect(stops).toEqual([expect.objectContaining({ code, message: 'the text of the peer', memberId: 2 })]);
    expect(stops[0]!.holder).toEqual(holder);
    expect(end.isOver).toBe(true);
    expect(thrown(() => end.assertOpen())).toBe(stops[0]);
    expect(end.close()).toBe(stops[0]);
    expect(end.signal.reason).toBe(stops[0]);
  },
);

it('other refusals do not stop it', () => {
  const { stops, ending: end } = ending();
  for (const code of ['ERR_RDMC_MESH_TIMEOUT', 'ERR_RDMC_ID_IN_USE', 'constructor'])
    end.stopIfTold({ code, message: 'no' } as never);
  expect([stops, end.isOver]).toEqual([[], false]);
  end.assertOpen();
  expect(end.close()).toBeInstanceOf(MeshError);
});
