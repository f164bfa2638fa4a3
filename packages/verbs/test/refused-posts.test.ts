import { afterEach, describe, expect, it } from 'vitest';
import {
  CompletionWord,
  completionFailure,
  type LocalKey,
  Opcode,
  type OpenDeviceOptions,
  WorkRequestFlag,
} from '../src/index.js';
import { fakeLibrary, useFake } from './support/fake-library.js';
import { completions, connectBoth, connectedSides } from './support/pair.js';

const restore: (() => void)[] = [];
afterEach(() => {
  for (const undo of restore.splice(0)) undo();
});

const DEVICES: [name: string, missing: string, options: OpenDeviceOptions][] = [
  ['the soft device', '', { device: 'soft' }],
  [`an RDMA device ${fakeLibrary.missing}`, fakeLibrary.missing, { device: 'fake0' }],
];

describe.each(DEVICES)('a refused send of %s', (_name, missing, options) => {
  it.skipIf(missing)(
    'later sends of its queue pair are refused as well, also behind requests of another one',
    async () => {
      if (options.device !== 'soft') restore.push(useFake());
      const [a, b] = await connectedSides(options);
      const other = a.domain.createQueuePair({ sendQueue: a.queue, receiveQueue: a.queue });
      const otherPeer = b.domain.createQueuePair({ sendQueue: b.queue, receiveQueue: b.queue });
      await connectBoth(other, otherPeer);
      const from = await a.domain.allocate(16);
      const to = await b.domain.allocate(48, { remoteWrite: true });
      from.view().fill(1);

      const refused: [id: number, code: string | undefined][] = [];
      const submission = a.device.createSubmissionQueue({
        onRefused: (words) =>
          refused.push([words[CompletionWord.ID_LOW]!, completionFailure(words, 0).refusal?.code]),
      });
      const write = (queuePair: number, id: number, lkey = from.lkey): void => {
        submission.begin(Opcode.WRITE, queuePair, id, WorkRequestFlag.SIGNALED);
        submission.sge(from.address, 16, lkey);
        submission.remote(to.address + 16 * (id - 1), to.rkey);
      };
      write(a.queuePair.number, 1, ((from.lkey ^ 0x1357_9bd0) >>> 0) as LocalKey);
      write(other.number, 2);
      write(a.queuePair.number, 3);
      submission.flush();

      expect(refused).toEqual([
        [1, 'ERR_RDMC_INVALID_LKEY'],
        [3, 'ERR_RDMC_QUEUE_PAIR_STATE'],
      ]);
      expect((await completions(a.queue, 1)).map(({ id, status }) => [id, status])).toEqual([[2, 'SUCCESS']]);
      // The next batch is not affected.
      write(a.queuePair.number, 3);
      submission.flush();
      expect((await completions(a.queue, 1)).map(({ id, status }) => [id, status])).toEqual([[3, 'SUCCESS']]);
      expect([...to.view()].map((byte) => byte === 1)).toEqual(Array.from({ length: 48 }, (_, i) => i >= 16));
      await Promise.all([a.device.close(), b.device.close()]);
    },
  );
});
