import { DataPlane } from '@rdmc/dataplane';
import { rejection, watchedTrace } from '@rdmc/testing';
import { expect, it } from 'vitest';
import { ECHO } from './planes.js';

it('traces the start and the end of data planes, with their outcomes', async () => {
  const [opened, closed] = [watchedTrace('@rdmc/dataplane:open'), watchedTrace('@rdmc/dataplane:close')];
  const plane = await DataPlane.open({
    device: { device: 'soft' },
    protocols: [{ name: 'echo', module: ECHO }],
  });
  const module = new URL('./fixtures/none.mjs', import.meta.url);
  const error = await rejection(
    DataPlane.open({ device: { device: 'soft' }, protocols: [{ name: 'a', module }] }),
  );
  expect(opened).toEqual([
    { protocols: ['echo'], result: plane },
    { protocols: ['a'], error },
  ]);
  await plane.close();
  await plane.close();
  expect(closed).toEqual([{ protocols: ['echo'], result: undefined }]);
});
