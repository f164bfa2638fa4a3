import { defineConfig } from 'tsup';

export default defineConfig({
  // The agent is started by name, in workers and in processes.
  entry: { index: 'src/index.ts', 'agent-main': 'src/agent/main.ts' },
  format: ['esm'],
  target: 'node20',
  clean: true,
  sourcemap: true,
});
