/** Free ports on loopback, for tests and demonstrations. */
export { type ReservedPort, reserveLoopbackPorts } from './reserve-ports.js';
