import type { Mesh } from '@rdmc/mesh';
import { describe, expect, it } from 'vitest';
import { Blame } from '../src/blame.js';
import type { Verdict } from '../src/wire-messages.js';

const DEAD: Verdict = { culprit: 9, code: 'ERR_RDMC_MEMBER_LOST', reason: 'it is gone' };

function meshThat(answers: () => Promise<unknown>): Mesh {
  return { request: answers } as unknown as Mesh;
}

describe('Blame', () => {
  it('takes the word of the member at the other end', async () => {
    const blame = new Blame(
      meshThat(async () => DEAD),
      1,
    );
    expect(await blame.investigate(4, 'nonce', 'ERR_RDMC_MEMBER_LOST', 'broken')).toEqual(DEAD);
  });

  it.each([
    ['knows nothing', async () => null],
    ['answers nonsense', async () => ({ culprit: 'me' })],
    ['does not answer', async () => Promise.reject(new Error('time-out'))],
  ])('blames that member where it %s', async (_name, answer) => {
    const blame = new Blame(meshThat(answer), 1);
    const verdict = await blame.investigate(4, 'nonce', 'ERR_RDMC_MEMBER_LOST', 'broken');
    expect(verdict).toEqual({ culprit: 4, code: 'ERR_RDMC_MEMBER_LOST', reason: 'broken' });
  });

  it('answers at once when it knows nothing, or suspects the one who asks', async () => {
    const blame = new Blame(
      meshThat(() => new Promise(() => {})),
      1,
    );
    expect(await blame.answer(4)).toBeNull();
    void blame.investigate(4, 'nonce', 'ERR_RDMC_MEMBER_LOST', 'broken');
    expect(await blame.answer(4)).toBeNull();
  });

  it('answers others when it knows who it was', async () => {
    const blame = new Blame(
      meshThat(() => new Promise(() => {})),
      1,
    );
    void blame.investigate(4, 'nonce', 'ERR_RDMC_MEMBER_LOST', 'broken');
    const answer = blame.answer(5);
    blame.settle(DEAD);
    expect(await answer).toEqual(DEAD);
  });

  it('gives its verdict to anybody once there is one', async () => {
    const blame = new Blame(
      meshThat(() => new Promise(() => {})),
      1,
    );
    blame.settle(DEAD);
    expect(await blame.answer(4)).toEqual(DEAD);
  });

  it('asks nobody where the news comes while it waits, and answers with it', async () => {
    let asked = 0;
    const blame = new Blame(
      meshThat(async () => {
        asked += 1;
        return null;
      }),
      1,
    );
    const verdict = blame.investigate(4, 'nonce', 'ERR_RDMC_MEMBER_LOST', 'flushed', 60_000);
    const answer = blame.answer(4);
    blame.settle(DEAD);
    expect(await verdict).toEqual(DEAD);
    expect(await answer).toEqual(DEAD);
    expect(asked).toBe(0);
  });
});
