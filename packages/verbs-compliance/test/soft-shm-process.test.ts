import { softOverShm } from './suites.js';

softOverShm('process');
