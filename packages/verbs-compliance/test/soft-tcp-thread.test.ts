import { softOverTcp } from './suites.js';

softOverTcp('thread');
