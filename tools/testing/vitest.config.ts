import { suite } from './config/suite.js';

// slow: it starts the runner.
export default suite({ slow: ['test/repeat.test.ts'] });
