import { softOverShm } from './suites.js';

softOverShm('thread');
