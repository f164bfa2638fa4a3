import type { Mutant } from '../mutant.js';

const PACKAGE = 'packages/schedule';
const PIPELINE = ['packages/schedule/test/binomial-pipeline.test.ts'];
const HYBRID = ['packages/schedule/test/hybrid.test.ts', 'packages/schedule/test/uplink.test.ts'];

/** Who sends what to whom, when. */
export const schedule: readonly Mutant[] = [
  {
    id: 'schedule/twin-swap',
    package: PACKAGE,
    function: 'BinomialPipeline.receiver',
    find: 'this.cube.relayParity(vertex, step) === first',
    replace: 'this.cube.relayParity(vertex, step) !== first',
    fault: 'The twins of a vertex swap their roles.',
    tests: PIPELINE,
  },
  {
    id: 'schedule/extra-step',
    package: PACKAGE,
    function: 'BinomialPipeline.constructor',
    find: 'nodes === this.cube.vertices ? 0 : 1',
    replace: '0',
    fault: 'The exchange between twins at the end is left out.',
    tests: PIPELINE,
  },
  {
    id: 'schedule/arrival-of-twin',
    package: PACKAGE,
    function: 'BinomialPipeline.arrival',
    find: 'this.upper(this.vertexOf(rank)) === -1 ? 1 : 0',
    replace: '0',
    fault: 'The step of an arrival is one too late for ranks without a twin.',
    tests: HYBRID,
  },
];
