import type { Session } from '../commands/command.js';

/** Of commands that another server sent: what concerns a connection is never forwarded. */
export const INTERNAL_SESSION: Session = {
  id: 0,
  version: 2,
  name: '',
  authenticated: true,
  address: '',
  quit() {},
};
