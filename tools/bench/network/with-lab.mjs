// A lab, and members of groups in its hosts, for as long as the work lasts.
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createLab } from '@rdmc/netlab';
import { Cluster } from './cluster.mjs';
import { makeFile, sameFile } from './files.mjs';
import { scratch } from './tools.mjs';

export async function withLab(options, work) {
  const lab = await createLab(options);
  try {
    return await work(
      lab,
      lab.hosts.map((host) => host.name),
    );
  } finally {
    await lab.destroy();
  }
}

/** `start`: options of the cluster. */
export function withCluster(options, work, start = {}) {
  return withLab(options, async (lab, hosts) => {
    const cluster = await Cluster.start(lab, hosts, start);
    const result = await work(cluster, lab, hosts);
    await cluster.stop();
    return result;
  });
}

/** A folder in memory with one of its own for each host, emptied by `fresh`. */
export function foldersFor(hosts) {
  const folder = scratch('files');
  const folderOf = (host) => join(folder.path, host);
  const fresh = () => {
    for (const host of hosts) {
      rmSync(folderOf(host), { recursive: true, force: true });
      mkdirSync(folderOf(host));
    }
  };
  fresh();
  return { path: folder.path, source: join(folder.path, 'source'), folderOf, fresh, remove: folder.remove };
}

/** The same with a source file; `check` compares every host's copy with it. */
export function filesFor(hosts, bytes) {
  const folders = foldersFor(hosts);
  makeFile(folders.source, bytes);
  const check = (nameOf) => {
    for (const host of hosts.slice(1)) {
      if (!sameFile(folders.source, nameOf(folders.folderOf(host), host)))
        throw new Error(`${host} has another file`);
    }
  };
  return { ...folders, check };
}
