import { suite } from '../../tools/vitest/suite.js';

export default suite({ slow: ['test/run.test.ts'] });
