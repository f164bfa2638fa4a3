import { suite } from '../../tools/testing/config/suite.js';

export default suite();
