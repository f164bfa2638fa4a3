import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { castFile } from '@rdmc/cast';
import { rejection, temporaryDirectory, until } from '@rdmc/testing';
import { expect, it } from 'vitest';
import { EARLY_SYNC_BYTES } from '../src/constants.js';
import { JOURNAL_HEADER_BYTES } from '../src/resume/journal.js';
import { slow, sourceTree, until as untilProgress } from './support/disturbed.js';
import { leftovers, ReceiverProcess, startReceivers, temporaries, visible } from './support/receivers.js';
import { expectSameTree, seededBytes, write } from './support/tree.js';

const HANGING_SYNC = fileURLToPath(new URL('./fixtures/hanging-sync.mjs', import.meta.url));
const SIZE = EARLY_SYNC_BYTES + 16_000_000;

/** Whether the journal of a cast in progress has a range. */
function hasRange(directory: string): boolean {
  return temporaries(directory).some((name) =>
    readdirSync(join(directory, name)).some((file) => {
      const path = join(directory, name, file);
      return file.startsWith('journal-') && existsSync(path) && statSync(path).size > JOURNAL_HEADER_BYTES;
    }),
  );
}

it('a receiver that is killed by kill -9 continues with what was synced', async () => {
  const from = temporaryDirectory();
  write(from, 'root/first', 'complete');
  write(from, 'root/large', seededBytes(SIZE, 1));
  // The file does not become complete before the kill, even where the disk needs longer than the rest of the cast.
  const env = { NODE_OPTIONS: `--import ${HANGING_SYNC}` };
  const killed = await ReceiverProcess.start({}, undefined, env);
  const { directory } = killed;
  const options = { messageBytes: 1 << 20, bandwidthLimit: 24_000_000 };
  const cast = castFile(join(from, 'root'), { to: [killed.address], ...options });
  cast.finished.catch(() => {});
  await until(() => hasRange(directory), 5);
  await killed.kill();
  await expect(cast.finished).rejects.toMatchObject({ code: 'ERR_RDMC_RECEIVER_LOST' });
  expect(visible(directory)).toEqual([]);
  const next = await ReceiverProcess.start({ directory });
  expect([temporaries(directory).length, leftovers(directory).length]).toEqual([0, 1]);
  const summary = await castFile(join(from, 'root'), { to: [next.address] }).finished;
  expect(summary.transferredBytes).toBeLessThanOrEqual(SIZE - EARLY_SYNC_BYTES);
  expect(summary.receivers[0]).toMatchObject({ state: 'complete', unchangedFiles: 1 });
  expect(summary.receivers[0]!.resumedBytes).toBeGreaterThanOrEqual(EARLY_SYNC_BYTES);
  expectSameTree(directory, from);
});

it('a cast that follows an interrupted one at once continues it', async () => {
  const from = sourceTree();
  const [receiver] = await startReceivers(1);
  const { to, directory } = receiver!;
  const cast = castFile(join(from, 'root'), { to: [to], ...slow });
  await untilProgress(cast, ({ receivers: [one] }) => one!.storedBytes > 500_000);
  cast.abort(new Error('enough'));
  await rejection(cast.finished);
  const summary = await castFile(join(from, 'root'), { to: [to] }).finished;
  expect(summary.receivers[0]!.resumedBytes).toBeGreaterThan(400_000);
  expectSameTree(directory, from);
});
