import { randomUUID } from 'node:crypto';
import { utimesSync } from 'node:fs';
import { join } from 'node:path';
import { rounds, temporaryDirectory } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';
import { RunFiller } from '../src/reader/run-filler.js';
import { MessageOpener } from '../src/seal/message-opener.js';
import { newSecret, type RunSeal } from '../src/seal/run-key.js';
import { repeatedNonces, traceNonces } from './support/cipher-trace.js';
import { MESSAGE_BYTES, readerOf, store } from './support/local-cast.js';
import { seededBytes, write } from './support/tree.js';

const FILES = 4;

function tree(): { from: string; root: string } {
  const from = temporaryDirectory();
  const root = join(from, 'root');
  for (let number = 0; number < FILES; number += 1)
    write(root, `file${number}`, seededBytes(20_000 + number * 30_000, number));
  return { from, root };
}

/** Another content of the same size. */
function change(root: string, number: number, seed: number): void {
  const path = write(root, `file${number}`, seededBytes(20_000 + number * 30_000, seed));
  utimesSync(path, seed, seed);
}

interface Casting {
  /** Where each run begins again after a loss: how many messages back. */
  readonly losses: readonly number[];
  /** The file that changes before each of these runs. */
  readonly changes: readonly number[];
  /** The secret of a run. */
  readonly secretOf: (run: number) => Buffer;
}

/** Casts in runs, as a sender does that loses receivers. Returns the messages as one receiver that stays opens them. */
function castInRuns({ losses, changes, secretOf }: Casting): Buffer[] {
  const { root } = tree();
  const reader = readerOf([root]);
  const castId = randomUUID();
  const opened: Buffer[] = [];
  let next = 0;
  for (const [index, back] of [...losses, 0].entries()) {
    const run: RunSeal = { castId, sender: 'host', run: index + 1, secret: secretOf(index) };
    const filler = new RunFiller(reader, { seal: run, isLastStream: true, outlined: false });
    const opener = new MessageOpener(run);
    const changed = changes[index];
    if (changed !== undefined) change(root, changed % FILES, index + 100);
    const isLastRun = index === losses.length;
    for (let sent = 0; isLastRun || sent < 3; sent += 1) {
      const memory = Buffer.alloc(MESSAGE_BYTES);
      const { bytes, last } = filler.fill(next, memory);
      if (bytes === 0) break;
      const message = Buffer.from(opener.open(memory.subarray(0, bytes), next));
      // A receiver that has the message drops it.
      if (next === opened.length) opened.push(message);
      next += 1;
      if (last) break;
    }
    next = Math.max(0, next - back);
  }
  reader.close();
  return opened;
}

describe('nonces', () => {
  it('are not used twice with a key, over runs with losses and files that change between runs', async () => {
    let encrypted = 0;
    await rounds(20, (random) => {
      const used = traceNonces(() => {
        const losses = random.some(5, () => random.below(4));
        const changes = random.some(6, () => random.below(FILES));
        const messages = castInRuns({ losses, changes, secretOf: newSecret });
        // A file that changed is a problem at the sender; what is stored is complete.
        expect(store(messages, temporaryDirectory()).problems).toEqual([]);
      });
      encrypted += used.filter(({ encrypts }) => encrypts).length;
      // The sender and this receiver use a file's GMAC once each, for equal bytes.
      expect(repeatedNonces(used)).toEqual([]);
    });
    expect(encrypted).toBeGreaterThan(100);
  });

  it('would be used twice if runs had one secret and one number: this test sees it', () => {
    const secret = newSecret();
    const used = traceNonces(() => {
      const { root } = tree();
      const reader = readerOf([root]);
      const run: RunSeal = { castId: randomUUID(), sender: 'host', run: 1, secret };
      for (let number = 0; number < 2; number += 1) {
        new RunFiller(reader, { seal: run, isLastStream: true, outlined: false }).fill(
          0,
          Buffer.alloc(MESSAGE_BYTES),
        );
        change(root, 0, 100);
      }
      reader.close();
    });
    expect(repeatedNonces(used)).toHaveLength(1);
  });
});
