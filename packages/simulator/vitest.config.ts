import { suite } from '../../tools/testing/config/suite.js';

// slow: whole simulations.
export default suite({
  slow: ['test/group.test.ts', 'test/validation.test.ts'],
});
