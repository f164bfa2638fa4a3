import type { Command } from 'commander';
import type { Session } from '../session.js';
import { addBandwidthCommand } from './bench-bandwidth.js';
import { addLatencyCommand } from './bench-latency.js';
import { addMulticastCommand } from './bench-multicast.js';
import { addHelpNotes } from './help.js';

export function defineBenchCommand(bench: Command, session: Session): void {
  addBandwidthCommand(bench, session, 'bandwidth');
  addLatencyCommand(bench, session);
  addBandwidthCommand(bench, session, 'rate');
  addMulticastCommand(bench, session);
  addHelpNotes(bench, {
    about: ['Compare only numbers of one run: they depend on processors, memory and other programs.'],
    examples: [
      ['rdmc bench bandwidth', 'WRITE bandwidth between two processes'],
      ['rdmc bench latency --operation send', 'SEND latency'],
      ['rdmc bench rate --transport tcp', 'small WRITEs per second over TCP'],
      ['rdmc bench multicast --members 2,4,8', 'all algorithms'],
    ],
  });
}
