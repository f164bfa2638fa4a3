import { defineConfig } from 'tsup';

// main: the command. member: one process of the cluster that is tested. random: choices by seed, for others too.
export default defineConfig({
  entry: { main: 'src/main.ts', member: 'src/member/main.ts', random: 'src/random.ts' },
  format: ['esm'],
  target: 'node20',
  clean: true,
  sourcemap: true,
});
