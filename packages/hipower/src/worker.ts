/** The module that the data plane loads in its worker. */
import { hiPowerWorker } from './worker/hipower-protocol.js';

export default hiPowerWorker;
