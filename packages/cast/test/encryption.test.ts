import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { castFile } from '@rdmc/cast';
import { rejection, temporaryDirectory, until } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';
import { repeatedNonces, type UsedNonce } from './support/cipher-trace.js';
import { slow, sourceTree } from './support/disturbed.js';
import { outcome, ReceiverProcess, startReceivers, temporaries } from './support/receivers.js';
import { expectSameTree, namesIn, write } from './support/tree.js';

const hook = (name: string): string =>
  `--import ${fileURLToPath(new URL(`./fixtures/${name}.mjs`, import.meta.url))}`;

/** A receiver that alters what it receives; see the fixture. */
function alteringReceiver(env: NodeJS.ProcessEnv): Promise<ReceiverProcess> {
  return ReceiverProcess.start({}, undefined, { NODE_OPTIONS: hook('altered-bytes'), ...env });
}

/** Casts from a separate process. Returns the nonces that it used; a file gets longer when it has sent some of it. */
async function nonceTrace(path: string, changed: string, options: object): Promise<UsedNonce[]> {
  const log = write(temporaryDirectory(), 'nonces', '');
  const module = fileURLToPath(new URL('fixtures/sender.mjs', import.meta.url));
  const sender = fork(module, [JSON.stringify({ path, options })], {
    env: {
      ...process.env,
      NODE_OPTIONS: hook('trace-nonces'),
      ...{ RDMC_TEST_NONCE_LOG: log, RDMC_TEST_CHANGED: changed },
    },
  });
  await once(sender, 'exit');
  const lines = readFileSync(log, 'utf8').trim().split('\n');
  return lines.map((line) => JSON.parse(line) as UsedNonce);
}

describe('a bit that is flipped on the way to one receiver, in a cast whose file changes', () => {
  it('is refused there; the other one gets the rest, a retry succeeds, and no nonce is used twice', async () => {
    const from = sourceTree(2_000_000);
    const altered = await alteringReceiver({ RDMC_TEST_FLIP: write(temporaryDirectory(), 'flip') });
    const [other] = await startReceivers(1);
    const options = { to: [altered.address, other!.to], retries: 1, ...slow };
    const used = await nonceTrace(join(from, 'root'), join(from, 'root/large'), options);

    expect(await altered.event('failed')).toMatchObject({ code: 'ERR_RDMC_DECRYPT_FAILED', files: 0 });
    // The retry sends the file as it is then.
    await altered.event('complete');
    expectSameTree(altered.directory, from);
    expect(namesIn(other!.directory)).toEqual(namesIn(from).filter((name) => name !== 'root/large'));
    expect([...temporaries(altered.directory), ...temporaries(other!.directory)]).toEqual([]);

    expect(repeatedNonces(used)).toEqual([]);
    // Runs of the first attempt, and that of the retry.
    const keys = new Set(used.filter(({ encrypts }) => encrypts).map(({ key }) => key));
    expect(keys.size).toBeGreaterThanOrEqual(2);
  });
});

describe('a relay that has the key and alters what it passes on', () => {
  it('is not noticed with gmac, and refused with sha256', async () => {
    const path = write(temporaryDirectory(), 'name-one', 'content');
    const receiver = await alteringReceiver({ RDMC_TEST_RENAME: 'name-one,name-two' });
    const options = { to: [receiver.address], compare: 'none' } as const;
    await castFile(path, options).finished;
    expect(namesIn(receiver.directory)).toEqual(['name-two']);
    const error = await rejection(castFile(path, { ...options, checksum: 'sha256' }).finished);
    expect(error.code).toBe('ERR_RDMC_HASH_MISMATCH');
    // The sender knows the end before the receiver has cleaned up.
    await until(() => temporaries(receiver.directory).length === 0);
    expect(namesIn(receiver.directory)).toEqual(['name-two']);
  });
});

describe('a cast', () => {
  it('with sha256 to several receivers, in many messages, arrives', async () => {
    const from = sourceTree(1_000_000);
    const receivers = await startReceivers(2);
    const to = receivers.map(({ to }) => to);
    const options = { to, checksum: 'sha256', messageBytes: 1 << 16 } as const;
    const { receivers: summaries } = await castFile(join(from, 'root'), options).finished;
    expect(summaries.map(({ state }) => state)).toEqual(['complete', 'complete']);
    for (const { directory } of receivers) expectSameTree(directory, from);
  });

  it('is encrypted unless the sender does not want it, and says which it is', async () => {
    const path = write(temporaryDirectory(), 'file');
    const [receiver] = await startReceivers(1);
    const { to, receiver: events } = receiver!;
    const began: boolean[] = [];
    const reading = (async () => {
      for await (const event of events) if (event.type === 'began') began.push(event.encrypted);
    })();
    for (const encrypt of [undefined, false]) {
      const cast = castFile(path, { to: [to], encrypt, compare: 'none' });
      expect((await cast.finished).encrypted).toBe(encrypt ?? true);
      expect(cast.progress?.route?.encrypted).toBe(encrypt ?? true);
    }
    await events.close();
    await reading;
    expect(began).toEqual([true, false]);
  });

  it('without encryption is refused by a receiver that requires it, before anything is sent', async () => {
    const path = write(temporaryDirectory(), 'file');
    const [receiver] = await startReceivers(1, { requireEncryption: true });
    const end = outcome(receiver!.receiver);
    const to = [receiver!.to];
    const error = await rejection(castFile(path, { to, encrypt: false }).finished);
    expect(error.code).toBe('ERR_RDMC_ENCRYPTION_REQUIRED');
    expect(await end).toMatchObject({ type: 'failed', code: 'ERR_RDMC_ENCRYPTION_REQUIRED' });
    expect(namesIn(receiver!.directory)).toEqual([]);
    await castFile(path, { to }).finished;
    expect(namesIn(receiver!.directory)).toEqual(['file']);
  });
});
