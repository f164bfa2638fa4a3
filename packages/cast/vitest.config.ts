import { suite } from '../../tools/vitest/suite.js';

export default suite({ slow: ['test/failure.test.ts', 'test/stream.test.ts'] });
