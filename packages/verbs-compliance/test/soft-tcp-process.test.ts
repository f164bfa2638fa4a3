import { softOverTcp } from './soft.js';

softOverTcp('process');
