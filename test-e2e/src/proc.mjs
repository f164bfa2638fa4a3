import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** The kernel's data about this process. */

/** Processor time of each thread so far, in ticks of 10 ms. */
export function threadTicks() {
  const ticks = {};
  for (const task of readdirSync('/proc/self/task')) {
    const stat = readOrEmpty(`/proc/self/task/${task}/stat`);
    // The name may contain spaces and brackets; user and system time are the 12th and 13th field after it.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (fields.length > 12) ticks[task] = Number(fields[11]) + Number(fields[12]);
  }
  return ticks;
}

/** Kilobytes of `/proc/self/smaps_rollup`, in bytes, by name. */
export function memory() {
  const sizes = {};
  for (const [, name, kilobytes] of readFileSync('/proc/self/smaps_rollup', 'utf8').matchAll(
    /^(\w+): +(\d+) kB/gm,
  )) {
    sizes[name] = Number(kilobytes) * 1024;
  }
  return sizes;
}

/**
 * Mapped files of the shared-memory file system: they would outlive a process that is killed.
 * @param {number | 'self'} [pid] nothing, where the process has ended
 */
export function namedSharedMemory(pid = 'self') {
  const lines = readOrEmpty(`/proc/${pid}/maps`).split('\n');
  return lines.filter((line) => line.includes(' /dev/shm/'));
}

export function openDescriptors() {
  return readdirSync('/proc/self/fd').length;
}

/** Names of the abstract sockets this process listens on. */
export function abstractSockets() {
  const own = new Set();
  for (const fd of readdirSync('/proc/self/fd')) {
    const inode = /^socket:\[(\d+)\]$/.exec(readLinkOrEmpty(`/proc/self/fd/${fd}`))?.[1];
    if (inode) own.add(inode);
  }
  return unixSockets()
    .filter(({ inode }) => own.has(inode))
    .map(({ name }) => name);
}

/** Ports this process listens on, by TCP. */
export function listeningPorts() {
  const own = new Set();
  for (const fd of readdirSync('/proc/self/fd')) own.add(readLinkOrEmpty(`/proc/self/fd/${fd}`));
  const ports = [];
  for (const table of ['tcp', 'tcp6']) {
    for (const line of readOrEmpty(`/proc/net/${table}`).split('\n').slice(1)) {
      const fields = line.trim().split(/\s+/);
      const [local, state, inode] = [fields[1], fields[3], fields[9]];
      if (state === '0A' && own.has(`socket:[${inode}]`))
        ports.push(Number.parseInt(local.split(':')[1], 16));
    }
  }
  return ports;
}

function unixSockets() {
  const found = [];
  for (const line of readFileSync('/proc/net/unix', 'utf8').split('\n')) {
    const [, , , flags, , , inode, name] = line.split(/\s+/);
    // 00010000 marks a listener.
    if (name?.startsWith('@') && flags === '00010000') found.push({ inode, name });
  }
  return found;
}

function readOrEmpty(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function readLinkOrEmpty(path) {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}
