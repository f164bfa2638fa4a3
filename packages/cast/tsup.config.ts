import { copyFileSync } from 'node:fs';
import { defineConfig } from 'tsup';

// zod is bundled, less what is not used of it: as modules of its own it takes 0.1 s to load in every process.
export default defineConfig({
  entry: ['src/index.ts', 'src/reader.ts', 'src/writer.ts'],
  format: ['esm'],
  target: 'node20',
  noExternal: ['zod'],
  clean: true,
  sourcemap: true,
  onSuccess: async () => copyFileSync('../../node_modules/zod/LICENSE', 'dist/LICENSE-zod'),
});
