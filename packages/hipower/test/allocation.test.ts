import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const run = promisify(execFile);
const SCRIPT = fileURLToPath(new URL('./support/streaming.mjs', import.meta.url));
const MESSAGES = 1_000_000;
/** Of the young generation; what a collection frees at most. */
const SEMI_SPACE_MIB = 1;
/**
 * An object, a closure or a promise takes 48 bytes and more, so one per message would show. What there is belongs to
 * turns of the loop (readings of the clock, for the most part) and to waits: up to 22 bytes per message on a machine that
 * is busy with other things, when the turns are many and short.
 */
const LIMIT_BYTES = 32;
/** Over TCP turns are shorter still: up to 29 bytes; below any object all the same. */
const TCP_LIMIT_BYTES = 44;

/** The application's thread and the workers of two nodes. */
const THREADS = 3;

/** Bytes that each thread allocated between the marks, per message: collections of the young generation tell. */
function bytesPerMessage(output: string): number[] {
  // Loading their modules makes every thread collect, so a thread without a trace is one that does not tell.
  expect(collectionsOf(output).size, 'threads that trace their collections').toBe(THREADS);
  const measured = output.slice(output.indexOf('WARM'), output.indexOf('DONE'));
  return [...collectionsOf(measured).values()].map(
    (count) => (count * SEMI_SPACE_MIB * 1024 * 1024) / MESSAGES,
  );
}

/** Collections of the young generation, per thread. */
function collectionsOf(output: string): Map<string, number> {
  const collections = new Map<string, number>();
  for (const [, thread] of output.matchAll(/\[\d+:(0x[0-9a-f]+)\].*Scavenge/g)) {
    collections.set(thread!, (collections.get(thread!) ?? 0) + 1);
  }
  return collections;
}

/** Bytes per message of each thread, while the script passes messages. */
async function measure(...args: readonly string[]): Promise<number[]> {
  const env = { ...process.env, NODE_OPTIONS: `--max-semi-space-size=${SEMI_SPACE_MIB}` };
  const [mode, confirmation, ...more] = args;
  const all = [SCRIPT, mode!, confirmation!, String(MESSAGES), ...more];
  const { stdout } = await run('node', all, { env, maxBuffer: 64 << 20 });
  expect(stdout).toContain('DONE');
  return bytesPerMessage(stdout);
}

const OPTIONS = { timeout: 180_000, retry: 2 };

it.each([
  ['push', 'bitmap'],
  ['pull', 'bitmap'],
  ['push', 'per-request'],
])('%s, %s: no thread allocates per message', OPTIONS, async (mode, confirmation) => {
  for (const bytes of await measure(mode, confirmation)) expect(bytes).toBeLessThan(LIMIT_BYTES);
});

// An RDMA device has one way to its peers, and that was measured above.
it.skipIf(process.env.RDMC_TEST_DEVICE)(
  'over TCP neither (not where RDMC_TEST_DEVICE is set)',
  OPTIONS,
  async () => {
    for (const bytes of await measure('push', 'bitmap', 'tcp')) expect(bytes).toBeLessThan(TCP_LIMIT_BYTES);
  },
);

it('write and for await make a promise and a message each; the workers make nothing', OPTIONS, async () => {
  const [, ...workers] = (await measure('push', 'bitmap', 'auto', 'messages')).sort((a, b) => b - a);
  for (const bytes of workers) expect(bytes).toBeLessThan(LIMIT_BYTES);
});
