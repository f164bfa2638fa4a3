#!/usr/bin/env node
// Memory of the Cosmos-like load: 16 processes, and all 455 groups of the first one and three others, open at once. On loopback, so
// without root. Prints MiB of all processes together: before a group is open, with idle groups, and after a large and a
// small message of each group. PSS counts a page that processes share once; kernel memory of sockets is not in it.
//
//   node tools/bench/network/groups-memory.mjs [--block KIB|auto] [--transport tcp|shm] [--mib 1] [--groups 455]
//     [--small 0] [--json]
//
// --small: smallMessageBytes; 0 leaves the rings of small messages out.
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { allGroups } from '@rdmc/lab';
import { Cluster, onLoopback } from './cluster.mjs';

const HOSTS = 16;
const AT_ONCE = 16;
const KIB = 1024;
const MIB = KIB * KIB;
const SMALL_BYTES = 100;

const { values } = parseArgs({
  options: {
    block: { type: 'string', default: 'auto' },
    transport: { type: 'string', default: 'tcp' },
    mib: { type: 'string', default: '1' },
    groups: { type: 'string', default: '455' },
    small: { type: 'string' },
    json: { type: 'boolean', default: false },
  },
});

const FIELDS = ['Rss', 'Pss', 'Pss_Anon', 'Pss_File', 'Pss_Shmem'];

/** MiB of all processes together, by kind; and their descriptors. */
function memoryOf(pids) {
  const sums = Object.fromEntries(FIELDS.map((field) => [field, 0]));
  for (const pid of pids) {
    const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
    for (const field of FIELDS)
      sums[field] += Number(new RegExp(`^${field}: +(\\d+) kB`, 'm').exec(text)[1]) / KIB;
  }
  return Object.fromEntries(Object.entries(sums).map(([field, mib]) => [field, Math.round(mib)]));
}

async function openAll(cluster, { bytes, ...options }) {
  const groups = [];
  const waiting = allGroups().slice(0, Number(values.groups));
  for (let first = 0; first < waiting.length; first += AT_ONCE) {
    const some = waiting.slice(first, first + AT_ONCE);
    const opened = some.map((members, index) => {
      return cluster.open(first + index + 1, bytes, { ...options, shared: true, members });
    });
    groups.push(...(await Promise.all(opened)));
  }
  return groups;
}

const bytes = Number(values.mib) * MIB;
const blockBytes = values.block === 'auto' ? 'auto' : Number(values.block) * KIB;
const hosts = Array.from({ length: HOSTS }, (_, index) => String(index));
const cluster = await Cluster.start(onLoopback(), hosts, { transport: values.transport });
const rows = [];
const measure = (when) => rows.push({ when, ...memoryOf(cluster.pids()) });
try {
  measure('no group');
  const began = performance.now();
  const small = values.small === undefined ? {} : { smallMessageBytes: Number(values.small) };
  const groups = await openAll(cluster, { bytes, blockBytes, ...small });
  const formed = (performance.now() - began) / 1000;
  measure(`${groups.length} groups, idle`);
  for (const group of groups) await cluster.multicast(group, bytes);
  measure(`a message of ${values.mib} MiB in each`);
  for (const group of groups) await cluster.multicast(group, SMALL_BYTES);
  measure(`a message of ${SMALL_BYTES} bytes in each`);
  if (values.json) console.log(JSON.stringify({ formed, rows }));
  else {
    console.log(`blocks: ${values.block}, transport: ${values.transport}, formed in ${formed.toFixed(1)} s`);
    console.table(rows);
  }
} finally {
  await cluster.stop();
}
