import { softOverShm } from './soft.js';

softOverShm('worker');
