import { softOverShm } from './soft.js';

softOverShm('thread');
