import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { linkProgram } from './native/variant.mjs';

/** Time limit; the program itself waits 300 s for a missing event. */
const LIMIT_MS = 400_000;

const program = await linkProgram('soft-wrap', 'soft-wrap', { beside: ['soft-driver'] });
const lacking = program ? '' : '[skipped: the addon was not built here: npx turbo run native]';

it.skipIf(lacking).each(['shm', 'tcp'])(
  `receives over %s are not lost after 2^32 of them, whatever the depth ${lacking}`,
  { timeout: LIMIT_MS },
  (transport) => {
    const run = spawnSync(program as string, [transport], { encoding: 'utf8' });
    expect(run.status ?? run.signal, run.stderr).toBe(0);
  },
);
