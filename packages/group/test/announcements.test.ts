import { expect, it } from 'vitest';
import { CONTROL_SEND_DEPTH } from '../src/constants.js';
import { Announcements } from '../src/worker/announcements.js';
import { createCounters } from '../src/worker/counters.js';
import type { GroupPort } from '../src/worker/port.js';

const WINDOW = 1;

/** Announcements to one neighbour, and the requests that they post. */
function announcing() {
  const told: { count: number; confirmAs: number }[] = [];
  const port: GroupPort = {
    postReceive: () => {},
    postSend: () => {},
    receiveAnnouncement: () => {},
    announce: (_pair, count, confirmAs) => told.push({ count, confirmAs }),
    copy: () => {},
    incoming: () => {},
    finished: () => {},
  };
  const announcements = new Announcements(port, createCounters(), 1, WINDOW);
  /** One block arrived, and its receive was posted again. */
  const turn = (): void => {
    announcements.posted(0);
    announcements.announce();
    announcements.arrived(0);
  };
  return { announcements, told, turn };
}

it('posts at most as many announcements as the send queue holds, and the rest after a completion', () => {
  const { announcements, told, turn } = announcing();
  for (let i = 0; i < CONTROL_SEND_DEPTH + 5; i += 1) turn();
  expect(told).toHaveLength(CONTROL_SEND_DEPTH);
  expect(announcements.waitsForOwn).toBe(true);
  const signaled = told.find(({ confirmAs }) => confirmAs !== 0)!;
  announcements.confirmed(0, signaled.confirmAs);
  announcements.announce();
  expect(told).toHaveLength(CONTROL_SEND_DEPTH + 1);
  expect(told.at(-1)!.count).toBe(CONTROL_SEND_DEPTH + 5);
  expect(announcements.waitsForOwn).toBe(false);
});
