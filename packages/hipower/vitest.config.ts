import { suite } from '../../tools/testing/config/suite.js';

export default suite({ slow: ['test/processes.test.ts', 'test/model.test.ts'] });
