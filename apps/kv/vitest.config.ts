import { availableParallelism } from 'node:os';
import { suite } from '../../tools/vitest/suite.js';

// Most tests wait for processes and threads, so more files than cores run at a time.
export default suite({ maxWorkers: Math.max(3, availableParallelism() - 1) });
