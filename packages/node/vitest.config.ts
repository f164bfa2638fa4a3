import { suite } from '../../tools/vitest/suite.js';

export default suite();
