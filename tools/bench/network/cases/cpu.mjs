// CPU seconds per GiB and member, and memory, to send one file to n - 1 hosts: groups (memory to memory), rdmc cast,
// scp in a loop, udpcast, nc | tee. `cpu` counts the processes; `machine` all that kept the cores busy, the kernel's
// network included, and whatever else ran.
import { basename, join } from 'node:path';
import { cpuOf, Meter } from '../meter.mjs';
import { cast, haveCast } from '../rivals/cast.mjs';
import { chainFile, fileAt } from '../rivals/chain.mjs';
import { relayChain } from '../rivals/relay.mjs';
import { startScp } from '../rivals/scp.mjs';
import { udpcast } from '../rivals/udpcast.mjs';
import { have, MIB, median, nowSeconds, relayLabel, round3, say } from '../tools.mjs';
import { filesFor, withCluster, withLab } from '../with-lab.mjs';

const GIB = 1024 * MIB;
const sum = (values) => values.reduce((a, b) => a + b, 0);

function rowOf(name, n, mib, runs) {
  const per = (MIB * mib * n) / GIB;
  const of = (pick) => median(runs.map(pick));
  const row = {
    MiB: mib,
    n,
    name,
    seconds: round3(of((run) => run.seconds)),
    'cpu s/GiB/member': round3(of((run) => sum(run.cpu)) / per),
    'sender s/GiB': round3(of((run) => run.cpu[0]) / ((MIB * mib) / GIB)),
    'machine s/GiB/member': round3(of((run) => run.machineSeconds) / per),
    'sender MiB': Math.round(of((run) => run.peaksMiB[0])),
    'receiver MiB': Math.round(of((run) => Math.max(...run.peaksMiB.slice(1)))),
  };
  say(JSON.stringify(row));
  return row;
}

/** Members that are there already: their CPU time in between. */
function groupRuns(n, mib, { rate, rounds, blockBytes }, { algorithm, relay }) {
  const bytes = mib * MIB;
  return withCluster({ hosts: n, rate }, async (cluster, lab) => {
    const meter = new Meter(lab);
    const group = await cluster.open(1, bytes, { algorithm, relay, blockBytes });
    await cluster.seconds(group, bytes);
    const runs = [];
    for (let round = 0; round < rounds; round += 1) {
      await cluster.prepare(group, bytes);
      const before = await cluster.usage();
      meter.start();
      const { started, ended } = await cluster.multicast(group, bytes);
      meter.sample();
      const measured = meter.stop();
      const after = await cluster.usage();
      const cpu = after.map((each, index) => each.cpuSeconds - before[index].cpuSeconds);
      runs.push({ ...measured, cpu, seconds: ended - started });
    }
    return runs;
  });
}

function groupKinds({ algorithms, relays }) {
  return algorithms.flatMap((algorithm) =>
    relays.map((relay) => ({ name: `rdmc ${algorithm}${relayLabel(relay)}`, algorithm, relay })),
  );
}

/** Plain relays in C, between the moment at which all are ready and the last arrival. */
function relayRuns(n, mib, { rate, rounds }) {
  return withLab({ hosts: n, rate }, async (lab, hosts) => {
    const meter = new Meter(lab);
    const runs = [];
    for (let round = 0; round < rounds; round += 1) {
      let measured;
      const begin = () => meter.start();
      const stop = () => {
        meter.sample();
        measured = meter.stop();
      };
      const { seconds, cpu } = await relayChain(lab, hosts, mib * MIB, { begin, measured: stop });
      runs.push({ ...measured, cpu, seconds });
    }
    return runs;
  });
}

/** Commands that begin and end with each transfer. */
function commandRuns(n, mib, { rate, rounds }, send, nameOf) {
  return withLab({ hosts: n, rate }, async (lab, hosts) => {
    const files = filesFor(hosts, mib * MIB);
    const meter = new Meter(lab);
    const runs = [];
    for (let round = 0; round < rounds; round += 1) {
      files.fresh();
      meter.start();
      const started = nowSeconds();
      const result = await send(lab, hosts, files.source, files.folderOf, { rate, meter });
      const measured = meter.stop();
      // What ran on as a server was not wrapped: its part comes with the result.
      const cpu = measured.cpu.map((own, index) => own + (result.servers?.[index - 1] ?? 0));
      runs.push({ ...measured, cpu, seconds: result.seconds ?? nowSeconds() - started });
      files.check((folder) => nameOf(folder, files.source));
    }
    files.remove();
    return runs;
  });
}

/** The servers' part is their own and that of the children they have waited for. */
async function scpWithServers(lab, hosts, path, folderOf, { meter }) {
  const { copy, pids } = await startScp(lab, hosts, { meter });
  const before = pids.map(cpuOf);
  const { seconds } = await copy(path, folderOf);
  const servers = pids.map((pid, index) => cpuOf(pid) - before[index]);
  for (const pid of pids) process.kill(pid, 'SIGKILL');
  return { seconds, servers };
}

const COMMANDS = {
  cast: {
    name: 'rdmc cast',
    here: () => haveCast(),
    send: cast,
    nameOf: (folder, source) => join(folder, basename(source)),
  },
  chain: { name: 'nc chain', programs: ['nc'], send: chainFile, nameOf: fileAt },
  udpcast: { name: 'udpcast', programs: ['udp-sender'], send: udpcast, nameOf: fileAt },
  scp: { name: 'scp in a loop', programs: ['scp', 'sshd'], send: scpWithServers, nameOf: fileAt },
};

export async function cpu(options) {
  const { members = [8], mib = [64], only, install } = options;
  const wanted = (name) => only === undefined || only.includes(name);
  const rows = [];
  for (const n of members) {
    for (const size of mib) {
      for (const kind of wanted('rdmc') ? groupKinds(options) : []) {
        rows.push(rowOf(kind.name, n, size, await groupRuns(n, size, options, kind)));
      }
      if (wanted('relay') && have(['cc'], { install })) {
        rows.push(rowOf('C relay', n, size, await relayRuns(n, size, options)));
      }
      for (const [key, { name, here, programs = [], send, nameOf }] of Object.entries(COMMANDS)) {
        if (!wanted(key) || (here && !here()) || !have(programs, { install })) continue;
        rows.push(rowOf(name, n, size, await commandRuns(n, size, options, send, nameOf)));
      }
    }
  }
  return rows;
}
