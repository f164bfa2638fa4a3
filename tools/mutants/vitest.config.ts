import { suite } from '../testing/config/suite.js';

export default suite();
