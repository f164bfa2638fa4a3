import { copyFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build, type Options } from 'tsup';

/**
 * How tsup bundles a package: ES modules for the oldest Node.js that is supported. Source maps give stack traces the lines of
 * the sources (`node --enable-source-maps`), without the text of the sources, which would be half of each package.
 */
export function bundle(options: Options): Options {
  return {
    format: ['esm'],
    target: 'node20',
    clean: true,
    sourcemap: true,
    esbuildOptions: (esbuild) => {
      esbuild.sourcesContent = false;
    },
    ...options,
  };
}

/**
 * A package that also has modules of threads: each is one file, with what it needs of the packages in `noExternal`. A module takes
 * most of a millisecond to load, in each thread, so a thread starts a sixth faster than with the chunks of the package's other
 * entries. @rdmc/verbs stays outside: it has state that a thread has once.
 */
export function bundleWithThreads(options: Options, threads: Pick<Options, 'entry' | 'noExternal'>): Options {
  return bundle({
    ...options,
    onSuccess: async () => {
      await build({ ...bundle({ ...threads, splitting: false, clean: false }), config: false, silent: true });
    },
  });
}

/** Removes the maps of chunks that consist of other packages' sources only: nobody debugs those. */
function removeForeignMaps(folder: string): void {
  for (const name of readdirSync(folder).filter((each) => each.endsWith('.js.map'))) {
    const { sources } = JSON.parse(readFileSync(join(folder, name), 'utf8')) as { sources: string[] };
    if (!sources.every((source) => source.includes('node_modules/'))) continue;
    const code = join(folder, name.slice(0, -'.map'.length));
    writeFileSync(code, readFileSync(code, 'utf8').replace(/^\/\/# sourceMappingURL=.*\n?/m, ''));
    rmSync(join(folder, name));
  }
}

/** zod is bundled without its unused parts: as separate modules it takes 0.1 s to load in every process. */
export const WITH_ZOD: Options = {
  noExternal: ['zod'],
  onSuccess: async () => {
    copyFileSync('../../node_modules/zod/LICENSE', 'dist/LICENSE-zod');
    removeForeignMaps('dist');
  },
};
