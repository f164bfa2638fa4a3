import { suite } from '../testing/config/suite.js';

// One file at a time: labs share the machine's two or four cores.
export default suite({ slow: ['test/lab.test.ts', 'test/command.test.ts'], fileParallelism: false });
