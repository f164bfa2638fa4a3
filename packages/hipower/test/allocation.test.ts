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

it.each([
  ['push', 'bitmap'],
  ['pull', 'bitmap'],
  ['push', 'per-request'],
])('%s, %s: no thread allocates per message', { timeout: 180_000, retry: 2 }, async (mode, confirmation) => {
  const env = { ...process.env, NODE_OPTIONS: `--max-semi-space-size=${SEMI_SPACE_MIB}` };
  const { stdout } = await run('node', [SCRIPT, mode, confirmation, String(MESSAGES)], {
    env,
    maxBuffer: 64 << 20,
  });
  expect(stdout).toContain('DONE');
  for (const bytes of bytesPerMessage(stdout)) expect(bytes).toBeLessThan(LIMIT_BYTES);
});
