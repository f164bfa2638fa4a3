import { defineConfig } from 'tsup';

// main: the command. member: what it runs in the processes of the server and of the workers.
export default defineConfig({
  entry: { main: 'src/main.ts', index: 'src/index.ts', member: 'src/member.ts' },
  format: ['esm'],
  target: 'node20',
  clean: true,
  sourcemap: true,
});
