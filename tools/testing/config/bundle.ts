import { copyFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Options } from 'tsup';

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
