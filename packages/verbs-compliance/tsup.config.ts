import { bundle } from '../../tools/testing/config/bundle.js';

// The agent is started by name, in workers and in processes.
export default bundle({ entry: { index: 'src/index.ts', 'agent-main': 'src/agent/main.ts' } });
