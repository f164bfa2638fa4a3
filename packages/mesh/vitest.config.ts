import { suite } from '../../tools/testing/config/suite.js';

// slow: the search of all interleavings, processes, and meshes that change.
export default suite({
  slow: ['test/docs.test.ts', 'test/live-hazards.test.ts', 'test/model.test.ts', 'test/processes.test.ts'],
});
