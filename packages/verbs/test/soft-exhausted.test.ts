import { fork, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { PYTHON } from '@rdmc/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Control, LinkMessage, LocalPeer, queuePairPage } from './support/local-peer.js';

const KEY = randomBytes(32).toString('hex');
const VICTIM = fileURLToPath(new URL('fixtures/exhausted-victim.mjs', import.meta.url));
/** That many are open already, so no other one can be opened. */
const NO_MORE = 3;

/** Sets the limit of open files of another process; returns the former limit. */
function limitFiles(pid: number, files: number): number {
  const script = `import resource as r, sys
pid, files = map(int, sys.argv[1:])
soft, hard = r.prlimit(pid, r.RLIMIT_NOFILE)
r.prlimit(pid, r.RLIMIT_NOFILE, (files, hard))
print(soft)`;
  const run = spawnSync(PYTHON, ['-c', script, String(pid), String(files)], { encoding: 'utf8' });
  expect(run.status, run.stderr).toBe(0);
  return Number(run.stdout);
}

interface Victim {
  readonly device: string;
  readonly number: number;
  readonly region: number;
}

/** A completion that no honest peer publishes; the polling thread finds it. */
async function breakByCompletion(peer: LocalPeer, { number }: Victim): Promise<void> {
  const page = queuePairPage(number);
  const ready = Control.COMPLETION_QUEUES + Control.READY + ((number & 8191) >> 5) * 4;
  await peer.write(
    [page + Control.INBOUND + 4, 77],
    [page + Control.PRODUCED, 1],
    [ready, 1 << (number & 31)],
  );
}

async function breakByMessage(peer: LocalPeer, { number }: Victim): Promise<void> {
  await peer.send(LinkMessage.PEER_ERROR, number);
}

describe('a peer that stays in the middle of a copy when no descriptor is left', () => {
  it.each([
    ['a poll', breakByCompletion, ['GENERAL_ERROR', 'FATAL']],
    ['the service thread', breakByMessage, ['FATAL', 'FATAL']],
  ])('makes %s report an error, not end the process', async (_, breakIt, statuses) => {
    const victim = fork(VICTIM, [KEY]);
    onTestFinished(() => void victim.kill('SIGKILL'));
    const ended = once(victim, 'exit');
    const answer = async (): Promise<unknown> =>
      (await Promise.race([once(victim, 'message'), ended]))[0] as unknown;
    const target = (await answer()) as Victim;
    const peer = new LocalPeer('dial', { device: target.device, proof: 'right', key: KEY });
    for (;;) if ('arena' in (await peer.next())) break;
    const page = queuePairPage(target.number);
    await peer.write([page + Control.BUSY_REGION, target.region], [page + Control.BUSY, 1]);
    const files = limitFiles(victim.pid as number, NO_MORE);
    await breakIt(peer, target);
    victim.send('wait');
    expect(await answer()).toEqual({
      statuses,
      events: ['queuePairFatal'],
      region: 'ERR_RDMC_SYSTEM',
      queuePair: 'ERR_RDMC_QUEUE_PAIR_BUSY',
    });
    limitFiles(victim.pid as number, files);
    victim.send('recover');
    expect(await answer()).toEqual({ queuePair: 'closed', region: 'closed' });
    expect(await ended).toEqual([0, null]);
  });
});
