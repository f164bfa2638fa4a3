// `npm run report`: installs, builds, and draws the recorded figures of the papers as one page.
import { lab } from './lab.mjs';

lab('report');
