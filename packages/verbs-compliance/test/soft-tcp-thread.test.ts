import { softOverTcp } from './soft.js';

softOverTcp('thread');
