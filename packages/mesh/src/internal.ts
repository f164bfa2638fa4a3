/** For the other packages of this repository; it may change in any release. */
export { liveOptionNames, meshOptionNames } from './options.js';
