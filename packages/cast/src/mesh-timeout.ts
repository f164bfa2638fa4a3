import { MAX_TIMER_MS, MESH_MEMBERS_IN_TIME, MESH_MS_PER_MEMBER } from './constants.js';

/**
 * How long the members of a cast may take to connect to each other, in milliseconds, and then to form a group: the limit for the
 * answer of one receiver, and more for each member of a large mesh, in which every pair of members makes a connection.
 */
export function meshTimeoutMs(connectTimeoutMs: number, members: number): number {
  const further = Math.max(0, members - MESH_MEMBERS_IN_TIME);
  return Math.min(connectTimeoutMs + further * MESH_MS_PER_MEMBER, MAX_TIMER_MS);
}
