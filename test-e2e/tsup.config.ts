import { defineConfig } from 'tsup';

// The tests on RDMA devices run in a virtual machine as well, where a test runner that compiles would take minutes.
export default defineConfig({
  entry: { device: 'device/main.ts' },
  format: ['esm'],
  target: 'node20',
  // 'node:test' exists under that name only.
  removeNodeProtocol: false,
  clean: true,
  sourcemap: true,
});
