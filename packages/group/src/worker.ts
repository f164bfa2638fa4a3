/** The module that the data plane loads in its worker. */
import { protocolWorker } from '@rdmc/dataplane';
import { groupRecords } from './records.js';
import { GroupProtocol } from './worker/group-protocol.js';

export default protocolWorker(groupRecords, (context) => new GroupProtocol(context));
