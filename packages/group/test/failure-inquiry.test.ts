import { setImmediate as turn } from 'node:timers/promises';
import type { Mesh } from '@rdmc/mesh';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { INQUIRY_TIMEOUT_MS } from '../src/constants.js';
import { FailureInquiry } from '../src/failure-inquiry.js';
import type { Verdict } from '../src/wire-messages.js';

const DEAD: Verdict = { culprit: 9, code: 'ERR_RDMC_MEMBER_LOST', reason: 'it is gone' };

function meshThat(answers: () => Promise<unknown>): Mesh {
  return { request: answers } as unknown as Mesh;
}

describe('FailureInquiry', () => {
  it('resolves with the answer of the member at the other end', async () => {
    const inquiry = new FailureInquiry(
      meshThat(async () => DEAD),
      1,
    );
    expect(await inquiry.ask(4, 'nonce', 'ERR_RDMC_MEMBER_LOST', 'broken')).toEqual(DEAD);
  });

  it.each([
    ['does not know of a failure', async () => null],
    ['sends a malformed answer', async () => ({ culprit: 'me' })],
    ['does not answer', async () => Promise.reject(new Error('time-out'))],
  ])('names that member as failed if it %s', async (_name, answer) => {
    const inquiry = new FailureInquiry(meshThat(answer), 1);
    const verdict = await inquiry.ask(4, 'nonce', 'ERR_RDMC_MEMBER_LOST', 'broken');
    expect(verdict).toEqual({ culprit: 4, code: 'ERR_RDMC_MEMBER_LOST', reason: 'broken' });
  });

  it('answers at once if it does not know of a failure, or suspects the member that asks', async () => {
    const inquiry = new FailureInquiry(
      meshThat(() => new Promise(() => {})),
      1,
    );
    expect(await inquiry.answer(4)).toBeNull();
    void inquiry.ask(4, 'nonce', 'ERR_RDMC_MEMBER_LOST', 'broken');
    expect(await inquiry.answer(4)).toBeNull();
  });

  it('tells other members at once whom it suspects: their requests do not last longer than its own', async () => {
    const inquiry = new FailureInquiry(
      meshThat(() => new Promise(() => {})),
      1,
    );
    void inquiry.ask(4, 'nonce', 'ERR_RDMC_MEMBER_LOST', 'broken');
    expect(await Promise.race([inquiry.answer(5), turn('it waits')])).toEqual({ suspects: 4 });
  });

  it('takes an answer that has come while this process was stopped for longer than the time-out', async () => {
    const request = (_to: number, _topic: string, _body: unknown, { timeoutMs = 30_000 } = {}) =>
      new Promise((resolve, reject) => {
        setTimeout(reject, timeoutMs).unref();
        setImmediate(resolve, DEAD);
      });
    const inquiry = new FailureInquiry({ request } as unknown as Mesh, 1);
    // Within an immediate: the timers that are due run before the next one.
    await turn();
    const verdict = inquiry.ask(4, 'nonce', 'ERR_RDMC_MEMBER_LOST', 'broken');
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, INQUIRY_TIMEOUT_MS + 100);
    expect(await verdict).toEqual(DEAD);
  });

  describe('if the suspect has a suspect', () => {
    const ask = (): [FailureInquiry, Promise<Verdict>] => {
      const inquiry = new FailureInquiry(
        meshThat(async () => ({ suspects: 9 })),
        1,
      );
      return [inquiry, inquiry.ask(4, 'nonce', 'ERR_RDMC_PROTOCOL', 'sent block 7 twice')];
    };

    it('waits for the verdict', async () => {
      const [inquiry, verdict] = ask();
      const decided = { ...DEAD, culprit: 11 };
      setImmediate(() => inquiry.settle(decided));
      expect(await verdict).toEqual(decided);
    });

    it('names the suspect of the suspect if no verdict comes', async () => {
      vi.useFakeTimers();
      onTestFinished(() => void vi.useRealTimers());
      const [, verdict] = ask();
      await vi.advanceTimersByTimeAsync(60_000);
      const reason = expect.stringContaining('member 4');
      expect(await verdict).toEqual({ culprit: 9, code: 'ERR_RDMC_MEMBER_LOST', reason });
    });
  });

  it('answers every member with the verdict once it has one', async () => {
    const inquiry = new FailureInquiry(
      meshThat(() => new Promise(() => {})),
      1,
    );
    inquiry.settle(DEAD);
    expect(await inquiry.answer(4)).toEqual(DEAD);
  });

  it('does not ask if the verdict arrives during its wait, and answers with that verdict', async () => {
    let asked = 0;
    const inquiry = new FailureInquiry(
      meshThat(async () => {
        asked += 1;
        return null;
      }),
      1,
    );
    const verdict = inquiry.ask(4, 'nonce', 'ERR_RDMC_MEMBER_LOST', 'flushed', 60_000);
    const answer = inquiry.answer(4);
    inquiry.settle(DEAD);
    expect(await verdict).toEqual(DEAD);
    expect(await answer).toEqual(DEAD);
    expect(asked).toBe(0);
  });
});
