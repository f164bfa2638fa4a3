import type { Mesh } from '@rdmc/mesh';
import type { ProtectionDomain } from '@rdmc/verbs';
import type { ChannelDirectory } from './channel-directory.js';
import type { WorkerLink } from './worker-link.js';

/** The parts of its node that a channel uses. */
export interface Environment {
  readonly mesh: Mesh;
  readonly directory: ChannelDirectory;
  readonly link: WorkerLink;
  readonly protectionDomain: ProtectionDomain;
}
