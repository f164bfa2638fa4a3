import { softOverTcp } from './soft.js';

softOverTcp('worker');
