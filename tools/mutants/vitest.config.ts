import { suite } from '../testing/config/suite.js';

// slow: it starts the runner.
export default suite({ slow: ['test/outcome.test.ts'] });
