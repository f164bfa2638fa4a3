import { softOverShm } from './soft.js';

softOverShm('process');
