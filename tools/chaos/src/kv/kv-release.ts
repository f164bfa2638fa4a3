import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { ownLevels } from '@rdmc/common';

/** A build of kv, and the variables of its processes. */
export interface KvRelease {
  readonly name: string;
  /** Its built command. */
  readonly program: string;
  readonly environment: Readonly<Record<string, string>>;
}

const require = createRequire(import.meta.url);

/** The build of this checkout, with its own levels. */
export const BUILT: KvRelease = {
  name: 'this build',
  program: join(dirname(require.resolve('@rdmc/kv/package.json')), 'dist', 'main.js'),
  environment: {},
};

/** The highest level of this build, which is that of the cluster, and the next one. */
export const LEVEL = ownLevels().most;
export const NEXT_LEVEL = LEVEL + 1;

/**
 * Two releases that follow each other. This checkout has one: RDMC_TEST_LEVELS makes it both. RDMC_CHAOS_BEFORE and RDMC_CHAOS_AFTER
 * name the built commands of two installations (`npm run test:upgrade`).
 */
export function releases(): { readonly before: KvRelease; readonly after: KvRelease } {
  const { RDMC_CHAOS_BEFORE = BUILT.program, RDMC_CHAOS_AFTER = BUILT.program } = process.env;
  const levels = (least: number, most: number) => ({ RDMC_TEST_LEVELS: `${least}-${most}` });
  return {
    before: { name: 'the release before', program: RDMC_CHAOS_BEFORE, environment: levels(LEVEL, LEVEL) },
    after: { name: 'the new release', program: RDMC_CHAOS_AFTER, environment: levels(LEVEL, NEXT_LEVEL) },
  };
}
