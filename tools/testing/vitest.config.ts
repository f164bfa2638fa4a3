import { suite } from './config/suite.js';

export default suite();
