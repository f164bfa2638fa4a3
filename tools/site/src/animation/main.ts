/** `npm run docs:animation` writes the picture on top of the README. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { animation } from './animation.js';
import { animationFile } from './file.js';

mkdirSync(dirname(animationFile), { recursive: true });
writeFileSync(animationFile, animation());
