/** The module that the data plane loads in its worker. */
import { tailwindWorker } from './worker/tailwind-protocol.js';

export default tailwindWorker;
