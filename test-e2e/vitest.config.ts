import { suite } from '../tools/testing/config/suite.js';

// Whole systems of many processes: one file at a time.
export default suite({ slow: ['test/**'], fileParallelism: false, testTimeout: 300_000 });
