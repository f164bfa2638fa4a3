/** The module that the data plane loads in its worker. */
import { protocolWorker } from '@rdmc/dataplane';
import { hiPowerRecords } from './records.js';
import { HiPowerProtocol } from './worker/hipower-protocol.js';

export default protocolWorker(hiPowerRecords, (context) => new HiPowerProtocol(context));
