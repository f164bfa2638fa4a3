import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { temporaryDirectory } from '@rdmc/testing';
import { expect, it } from 'vitest';
import { linkProgram } from './native/variant.mjs';

const corpus = fileURLToPath(new URL('./native/corpus', import.meta.url));
const seconds = Number(process.env.RDMC_TEST_FUZZ_SECONDS ?? 1);
const seed = process.env.RDMC_TEST_SEED ?? String(Math.floor(Math.random() * 2 ** 31));
/** Time limit: a compiler and a link, and every input of the corpus on a busy machine. */
const LIMIT_MS = 600_000;

const program = await linkProgram('soft-fuzz', 'soft-fuzz');
const lacking = program ? '' : '[skipped: the addon was not built here: npx turbo run native]';

it.skipIf(lacking)(
  `the soft device survives hostile bytes for ${seconds} s (RDMC_TEST_FUZZ_SECONDS), seed ${seed} ${lacking}`,
  { timeout: LIMIT_MS + seconds * 1_000 },
  () => {
    const input = join(temporaryDirectory('rdmc-fuzz'), 'input');
    const run = spawnSync(program as string, [corpus, String(seconds), seed], {
      encoding: 'utf8',
      env: { ...process.env, RDMC_FUZZ_INPUT: input },
    });
    const how = `${program} ${input}; the whole: RDMC_TEST_SEED=${seed} npx vitest run test/fuzz.test.ts`;
    expect(run.status, `${run.stderr}${run.stdout}\nrepeat with ${how}`).toBe(0);
    expect(run.stdout).toContain(`seed ${seed}`);
    expect(existsSync(input)).toBe(true);
  },
);
