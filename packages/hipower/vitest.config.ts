import { suite } from '../../tools/vitest/suite.js';

export default suite({ slow: ['test/processes.test.ts', 'test/model.test.ts'] });
