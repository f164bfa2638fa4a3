import { basename } from 'node:path';
import type { Options } from 'tsup';
import { bundle } from '../../tools/testing/config/bundle.js';

/** What src/base.ts exports. The other entries import it from there in the build as well, so that it is one file. */
const BASE = new RegExp(
  String.raw`^\./(${[
    'checks',
    'compound-shapes',
    'errors',
    'option-checks',
    'option-errors',
    'rdmc-error',
    'record-shapes',
    'scalar-shapes',
    'shape',
    'shapes',
    'thrown',
    'whole-number',
  ].join('|')})\.js$`,
);

const base: NonNullable<Options['esbuildPlugins']>[number] = {
  name: 'base',
  setup: (build) => {
    build.onResolve({ filter: BASE }, ({ importer }) => {
      const from = basename(importer, '.ts');
      if (from === 'base' || BASE.test(`./${from}.js`)) return undefined;
      return { path: './base.js', external: true };
    });
  },
};

export default bundle({
  entry: ['src/base.ts', 'src/index.ts', 'src/node-floor.ts'],
  esbuildPlugins: [base],
});
