/** The module that the data plane loads in its worker. */
import type { ProtocolFactory } from '@rdmc/dataplane';
import { HiPowerProtocol } from './worker/hipower-protocol.js';

const createHiPowerProtocol: ProtocolFactory = (context) => new HiPowerProtocol(context);

export default createHiPowerProtocol;
