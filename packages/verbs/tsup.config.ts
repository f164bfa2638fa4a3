import type { Options } from 'tsup';
import { bundle } from '../../tools/testing/config/bundle.js';

/** What all packages share: classes of errors, and the table of their codes. It is not copied. */
const base: NonNullable<Options['esbuildPlugins']>[number] = {
  name: 'base',
  setup: (build) => {
    build.onResolve({ filter: /^\.\/base\.js$/ }, () => ({ path: '@rdmc/common/errors', external: true }));
  },
};

// Every thread loads this package: it has what it needs of @rdmc/common, because each file takes most of a millisecond to load.
export default bundle({ entry: ['src/all.ts'], noExternal: [/^@rdmc\/common/], esbuildPlugins: [base] });
