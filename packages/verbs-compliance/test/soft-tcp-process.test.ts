import { softOverTcp } from './suites.js';

softOverTcp('process');
