import { bundle } from '../testing/config/bundle.js';

// build: the whole site. animation: the picture of the README.
export default bundle({ entry: { build: 'src/build/main.ts', animation: 'src/animation/main.ts' } });
