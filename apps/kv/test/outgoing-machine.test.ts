import { expect, it } from 'vitest';
import { OutgoingMachine } from '../src/handover/outgoing-machine.js';

/** A machine, and what it has its server do. */
function machine() {
  const done: string[] = [];
  const made = new OutgoingMachine({
    stop: () => done.push('stop'),
    finish: () => done.push('finish'),
    settle: (isReady) => done.push(`settle ${isReady}`),
    resume: () => done.push('resume'),
    release: () => done.push('release'),
  });
  return { made, done };
}

it('a failure before it stops ends it, and it serves on', () => {
  const { made, done } = machine();
  made.failed();
  expect([made.serves, done]).toEqual([true, []]);
  made.copied();
  expect([made.serves, done]).toEqual([true, []]);
});

it.each([0, 1])('a source that has stopped serves again only by the answer; %i steps later', (steps) => {
  const { made, done } = machine();
  made.copied();
  if (steps > 0) made.stopped();
  made.failed();
  expect(made.serves).toBe(false);
  expect(done.at(-1)).toBe('settle false');
  // A step that ends late does not count any more.
  made.finished();
  made.failed();
  expect([made.serves, done.at(-1)]).toEqual([false, 'settle false']);
  made.answered('kept');
  expect([made.serves, done.at(-1)]).toEqual([true, 'resume']);
});

it('slots that have moved are not served any more', () => {
  const { made, done } = machine();
  made.copied();
  made.stopped();
  made.finished();
  expect(done).toEqual(['stop', 'finish', 'settle true']);
  made.failed();
  made.answered('moved');
  expect([made.serves, done.at(-1)]).toEqual([false, 'release']);
});
