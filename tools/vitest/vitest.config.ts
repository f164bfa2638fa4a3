import { suite } from './suite.js';

export default suite();
