// `npm run reproduce`: installs, builds, and runs figures of the papers again: npm run reproduce -- --figure rdmc-8
import { lab } from './lab.mjs';

lab('reproduce');
