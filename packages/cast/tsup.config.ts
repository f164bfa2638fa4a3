import { defineConfig } from 'tsup';

export default defineConfig({
  entry: ['src/index.ts', 'src/reader.ts', 'src/writer.ts'],
  format: ['esm'],
  target: 'node20',
  dts: { entry: 'src/index.ts' },
  clean: true,
  sourcemap: true,
});
