import { suite } from '../../tools/testing/config/suite.js';

export default suite({ slow: ['test/compare.test.ts', 'test/failure.test.ts', 'test/stream.test.ts'] });
