import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const run = promisify(execFile);
const SCRIPT = fileURLToPath(new URL('./support/streaming.mjs', import.meta.url));
const ROUNDS = 4;
/** A byte for each message is more than a tenth of a collection: `LIMIT_BYTES` is three collections in a round. */
const MESSAGES = 100_000;
/** Of the young generation; what a collection frees at most. */
const SEMI_SPACE_BYTES = 1 << 20;
/** An object, a closure or a promise takes at least 48 bytes, so one per message exceeds this. */
const LIMIT_BYTES = 32;
/**
 * The rest belongs to turns of the workers' loops and to waits. Their number for a number of messages depends on
 * the machine: 1,000 turns for 100,000 messages here, 16,000 over TCP, more on contested processors.
 */
const TURN_BYTES = 256;

/** The application's thread and the workers of two nodes. */
const THREADS = 3;

/**
 * Bytes that each thread allocated per message, beyond the allowance for its turns, from collections of the young generation.
 * The least of several rounds: the cost of a message is in all of them, other work of the process (such as compiling) is not.
 */
function bytesPerMessage(output: string): number[] {
  // Loading their modules makes every thread collect, so a thread without a trace does not print traces.
  const threads = [...collectionsOf(output).keys()];
  expect(threads.length, 'threads that trace their collections').toBe(THREADS);
  const rounds = output.slice(0, output.indexOf('DONE')).split('ROUND').slice(1);
  expect(rounds.length).toBe(ROUNDS);
  return threads.map((thread) => Math.min(...rounds.map((round) => bytesOf(thread, round) / MESSAGES)));
}

function bytesOf(thread: string, round: string): number {
  const turns = Number(/TURNS (\d+)/.exec(round)![1]);
  return (collectionsOf(round).get(thread) ?? 0) * SEMI_SPACE_BYTES - turns * TURN_BYTES;
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
  const env = { ...process.env, NODE_OPTIONS: `--max-semi-space-size=${SEMI_SPACE_BYTES >> 20}` };
  const [mode, confirmation, ...more] = args;
  const all = [SCRIPT, mode!, confirmation!, String(ROUNDS), String(MESSAGES), ...more];
  const { stdout } = await run('node', all, { env, maxBuffer: 64 << 20 });
  expect(stdout).toContain('DONE');
  return bytesPerMessage(stdout);
}

const OPTIONS = { timeout: 300_000 };

it.each([
  ['push', 'bitmap'],
  ['pull', 'bitmap'],
  ['push', 'per-request'],
])('%s, %s: no thread allocates per message', OPTIONS, async (mode, confirmation) => {
  for (const bytes of await measure(mode, confirmation)) expect(bytes).toBeLessThan(LIMIT_BYTES);
});

// An RDMA device has one transport, and the case above measured it.
it.skipIf(process.env.RDMC_TEST_DEVICE)(
  'over TCP: no thread allocates per message (skipped if RDMC_TEST_DEVICE is set)',
  OPTIONS,
  async () => {
    for (const bytes of await measure('push', 'bitmap', 'tcp')) expect(bytes).toBeLessThan(LIMIT_BYTES);
  },
);

it(
  'write and for await allocate a promise and a message each; the workers do not allocate',
  OPTIONS,
  async () => {
    const found = (await measure('push', 'bitmap', 'auto', 'messages')).sort((a, b) => b - a);
    const [application, ...workers] = found;
    // The measurement does detect allocations.
    expect(application).toBeGreaterThan(LIMIT_BYTES);
    for (const bytes of workers) expect(bytes).toBeLessThan(LIMIT_BYTES);
  },
);
