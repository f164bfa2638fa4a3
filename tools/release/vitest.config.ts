import { suite } from '../testing/config/suite.js';

export default suite({ include: ['test/**/*.test.mjs'], slow: ['test/packed.test.mjs'], network: true });
