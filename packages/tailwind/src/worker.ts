/** The module that the data plane loads in its worker. */
import type { ProtocolFactory } from '@rdmc/dataplane';
import { TailwindProtocol } from './worker/tailwind-protocol.js';

const createTailwindProtocol: ProtocolFactory = (context) => new TailwindProtocol(context);

export default createTailwindProtocol;
