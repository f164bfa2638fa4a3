import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import type { End } from '../rig/end.js';
import { range } from '../rig/expect.js';
import { connected, type Peer } from '../rig/peer.js';
import type { PeerRegion } from '../rig/region.js';
import type { SuiteContext } from '../suite-context.js';
import { LIMIT_MS, LONG_MS, waitFor } from '../wait.js';

const LONGEST = 64 * 1_048_576;
const STRIDE = 4_096;
const ENDLESS = 1_000_000;

interface Attack {
  readonly near: End;
  readonly far: End;
  readonly target: PeerRegion;
  /** The loop's end: when one of its WRITEs fails. */
  readonly loop: Promise<{ readonly failure: string | null }>;
}

/**
 * `writer` writes 64 MiB, or the longest message, into a region of `owner` repeatedly, with different content in every
 * round; resolves after the first round.
 */
async function attack(owner: Peer, writer: Peer): Promise<Attack> {
  const [near, far] = await connected(owner, writer);
  const size = Math.min(LONGEST, writer.attributes.maxMessageBytes);
  const [target, source] = await Promise.all([owner.region(size), writer.region(size)]);
  await target.write(new Uint8Array(8));
  const loop = writer.call('stampLoop', {
    qp: far.qp,
    cq: far.cq,
    region: source.handle,
    remote: target.remote(),
    strideBytes: STRIDE,
    rounds: ENDLESS,
  });
  // A test that fails before it waits for the loop must report its own failure.
  loop.catch(() => undefined);
  await waitFor(
    () => 'the first round to be placed',
    async () => ((await target.word()) > 0n ? true : undefined),
  );
  return { near, far, target, loop };
}

/** The end of the writer's loop: if the loop continues, the barrier failed. */
async function endOf(loop: Attack['loop']): Promise<string | null> {
  let end: { readonly failure: string | null } | undefined;
  let broken: unknown;
  loop.then(
    (result) => {
      end = result;
    },
    (error: unknown) => {
      broken = error;
    },
  );
  await waitFor(
    () => 'an end of the writing',
    () => (end || broken ? true : undefined),
  );
  if (broken) throw broken;
  return end!.failure;
}

async function neverChangesAgain({ target, loop }: Attack, sum: number, failures: string[]): Promise<void> {
  assert.equal(await target.checksum(), sum, 'the memory changed after the barrier');
  const failure = await endOf(loop);
  assert.ok(failure !== null && failures.includes(failure), `the writer's end: ${failure}`);
  assert.equal(await target.checksum(), sum, 'the memory changed after the barrier');
}

function isStopped(pid: number): boolean {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return stat.slice(stat.lastIndexOf(')') + 2).startsWith('T');
}

/** Stops the writer's process at a moment when the target holds the head of a new round and the tail of the old. */
function stopMidCopy(writer: Peer, target: PeerRegion): Promise<boolean> {
  const pid = writer.link.pid!;
  const head = () => target.read(0, 4);
  const attempt = async (): Promise<true | undefined> => {
    process.kill(pid, 'SIGSTOP');
    await waitFor(
      () => 'the writer to stop',
      () => (isStopped(pid) ? true : undefined),
    );
    const [first, last] = await Promise.all([head(), target.read(target.length - STRIDE, 4)]);
    if (Buffer.compare(first, last) !== 0) return true;
    process.kill(pid, 'SIGCONT');
    // A busy machine runs the writer late: a stop before that would find the same round.
    await waitFor(
      () => 'the writer to begin the next round',
      async () => (Buffer.compare(await head(), first) !== 0 ? true : undefined),
    );
    return undefined;
  };
  return waitFor(() => 'a stop of the writer in the middle of a copy', attempt, 2 * LIMIT_MS);
}

export function barriers(context: SuiteContext): void {
  const { test, startPeer } = context;
  const revoked = ['REMOTE_ACCESS_ERROR'];
  // Flushed if the failure was detected between two requests.
  const gone = ['RETRY_EXCEEDED', 'WORK_REQUEST_FLUSHED'];
  const options = { timeoutMs: LONG_MS };

  test('revoke: after it returns, no byte changes', { ...options, bothWays: true }, async (a, b) => {
    const running = await attack(a, b);
    await neverChangesAgain(running, await running.target.revoke(), revoked);
  });

  test(
    'the error state: after it is reached, no byte changes',
    { ...options, bothWays: true },
    async (a, b) => {
      const running = await attack(a, b);
      await running.near.receive(...range(5).map((id) => ({ id })));
      const barrier = { qp: running.near.qp, region: running.target.handle };
      const sum = await a.call('modifyToError', barrier);
      await neverChangesAgain(running, sum, gone);
      await running.near.ends(range(5).map((id) => [id, 'WORK_REQUEST_FLUSHED'] as const));
      assert.equal(await running.near.state(), 'ERROR');
    },
  );

  test('closing a queue pair: after it is closed, no byte changes', options, async (a, b) => {
    const running = await attack(a, b);
    const sum = await a.call('closeQueuePair', { qp: running.near.qp, region: running.target.handle });
    await neverChangesAgain(running, sum, gone);
  });

  test('closing a region: the next region at its place is never written', options, async (a, b) => {
    const running = await attack(a, b);
    await running.target.closeNow();
    const next = await a.region(running.target.length);
    await next.fill(50);
    const failure = await endOf(running.loop);
    assert.ok(failure !== null && revoked.includes(failure), `the writer's end: ${failure}`);
    await next.holds(50);
  });

  test('modifyToError flushes sends and receives in order', {}, async (a, b) => {
    const [near] = await connected(a, b);
    await near.receive(...range(6).map((id) => ({ id: 100 + id })));
    // The other side has not posted receives: the sends wait.
    await near.post(...range(6).map((id) => ({ id, opcode: 'SEND', signaled: id % 2 === 0 }) as const));
    await near.modifyToError();
    await near.modifyToError();
    const completions = await near.poll(12);
    assert.ok(completions.every(({ status }) => status === 'WORK_REQUEST_FLUSHED'));
    const ids = completions.map(({ id }) => id);
    assert.deepEqual(
      ids.filter((id) => id < 100),
      range(6),
    );
    assert.deepEqual(
      ids.filter((id) => id >= 100),
      range(6, 100),
    );
    await near.nothingMore();
  });

  const needs = ['secondProcess', 'barrierAgainstStoppedPeer'] as const;
  const stopped = { ...options, needs };
  test('revoke against a writer stopped in the middle of a copy', stopped, async (a) => {
    const writer = await startPeer();
    const running = await attack(a, writer);
    await stopMidCopy(writer, running.target);
    const sum = await running.target.revoke();
    process.kill(writer.link.pid!, 'SIGCONT');
    await neverChangesAgain(running, sum, revoked);
  });

  test('the error state against a writer stopped in the middle of a copy', stopped, async (a) => {
    const writer = await startPeer();
    const running = await attack(a, writer);
    await stopMidCopy(writer, running.target);
    const sum = await a.call('modifyToError', { qp: running.near.qp, region: running.target.handle });
    process.kill(writer.link.pid!, 'SIGCONT');
    await neverChangesAgain(running, sum, gone);
  });

  test('closing against a writer stopped in the middle of a copy', stopped, async (a) => {
    const writer = await startPeer();
    const running = await attack(a, writer);
    await stopMidCopy(writer, running.target);
    await running.target.closeNow();
    await running.near.close();
    const next = await a.region(running.target.length);
    await next.fill(50);
    process.kill(writer.link.pid!, 'SIGCONT');
    await endOf(running.loop);
    await next.holds(50);
  });

  test('revoke against a writer killed in the middle of a copy', stopped, async (a, b) => {
    const writer = await startPeer();
    const running = await attack(a, writer);
    const [near] = await connected(b, a);
    await stopMidCopy(writer, running.target);
    await writer.link.stop();
    const sum = await running.target.revoke();
    // A queue pair that sends nothing may not detect that its peer has ended.
    if (context.spec.features.flushOnPeerDeath) await running.near.reaches('ERROR');
    assert.equal(await running.target.checksum(), sum);
    const fresh = await a.region(64);
    await near.run({ opcode: 'WRITE', inline: new Uint8Array(8), remote: fresh.remote() });
  });

  test(
    'after a revoke against a stopped writer, its view and other regions still work',
    stopped,
    async (a, b) => {
      const writer = await startPeer();
      const running = await attack(a, writer);
      const [near] = await connected(b, a);
      const [mine, bystander] = await Promise.all([b.region(4_096), a.region(4_096)]);
      await Promise.all([mine.fill(1), bystander.fill(50)]);
      await stopMidCopy(writer, running.target);
      await running.target.revoke();
      await running.target.fill(7);
      await near.run({ opcode: 'WRITE', sges: [mine.sge(0, 1_000)], remote: bystander.remote(100) });
      process.kill(writer.link.pid!, 'SIGCONT');
      await endOf(running.loop);
      await running.target.holds(7);
      await bystander.holdsOnly(1, 100, 1_000, 50);
    },
  );
}
