/** The module that the data plane loads in its worker. */
import { groupWorker } from './worker/group-protocol.js';

export default groupWorker;
