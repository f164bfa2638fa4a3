import { fileURLToPath } from 'node:url';

/** The root of the repository; this file is in `src`, and the built ones are in `dist`. */
export const root = fileURLToPath(new URL('../../../', import.meta.url));
