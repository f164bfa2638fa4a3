import { join } from 'node:path';
import { root } from '../root.js';

/** The records of the repository. */
export const recordsFolder = join(root, 'docs/results/figures');
