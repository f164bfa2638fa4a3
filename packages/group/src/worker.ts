/** The module that the data plane loads in its worker. */
import type { ProtocolFactory } from '@rdmc/dataplane';
import { GroupProtocol } from './worker/group-protocol.js';

const createGroupProtocol: ProtocolFactory = (context) => new GroupProtocol(context);

export default createGroupProtocol;
