import { join } from 'node:path';
import { root } from '../root.js';

/** The picture on top of the README. `npm run docs:animation` writes it. */
export const animationFile = join(root, 'docs/images/schedule.svg');
