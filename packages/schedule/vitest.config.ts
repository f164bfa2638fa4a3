import { suite } from '../../tools/testing/config/suite.js';

// slow: every size of a group.
export default suite({
  slow: ['test/binomial-pipeline.test.ts', 'test/hybrid.test.ts'],
});
