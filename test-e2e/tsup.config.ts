import { bundle } from '../tools/testing/config/bundle.js';

// The tests on RDMA devices run in a virtual machine as well, where a test runner that compiles would take minutes.
// 'node:test' exists under that name only.
export default bundle({ entry: { device: 'device/main.ts' }, removeNodeProtocol: false });
