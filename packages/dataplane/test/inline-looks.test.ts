import { setImmediate as nextImmediate } from 'node:timers/promises';
import { DataPlane, InlineDriver, protocolWorker, recordTable } from '@rdmc/dataplane';
import { expect, it, onTestFinished } from 'vitest';

const NOTHING = 'export default { records: { commands: {}, events: {} }, start: () => ({ commands: {} }) };';
const LOOKS = 4;

it("in the application's thread the event loop has a turn before each look", async () => {
  const module = new URL(`data:text/javascript,${encodeURIComponent(NOTHING)}`);
  const plane = await DataPlane.open({ device: { device: 'soft' }, protocols: [{ name: 'none', module }] });
  onTestFinished(() => plane.close());
  let turns = 0;
  const turnsAtLook: number[] = [];
  const worker = protocolWorker(recordTable({ commands: {}, events: {} }), (context) => {
    context.look(false);
    return {
      commands: {},
      onTurn() {
        turnsAtLook.push(turns);
        if (turnsAtLook.length < LOOKS) context.look(false);
      },
    };
  });
  const driver = await InlineDriver.open(plane, { name: 'looking', worker, events: {} });
  while (turnsAtLook.length < LOOKS) {
    await nextImmediate();
    turns += 1;
  }
  expect(new Set(turnsAtLook).size).toBe(LOOKS);
  await driver.close();
});
