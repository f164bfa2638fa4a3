import { suite } from '../../tools/testing/config/suite.js';

// A process for each file: the addon has one class of errors in a process, that of the sources or that of the build.
export default suite({ isolate: true });
