import { softOverShm } from './suites.js';

// Not all chapters; RDMC_TEST_LONG=1 runs all.
softOverShm('worker');
