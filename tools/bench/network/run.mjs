// Casts over a shaped network of namespaces, every number beside its rivals in the same run. Needs root.
import { readFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { createLab } from '@rdmc/netlab';
import { say, table } from './tools.mjs';

const CASES = {
  large: 'one object of 64, 8 and 256 MiB to n hosts: groups, cast, nc | tee, C relays, udpcast, Open MPI',
  running: 'the whole command rdmc cast while receivers run, for several sizes of messages: stream, nc | tee',
  'slow-link': 'one path at half the rate: what is left, beside the formula of the paper',
  stopped: 'one member stopped for 100 ms: by how much the whole is later',
  racks: '4 racks of 4 behind shared uplinks: hybrid beside flat schedules',
  dilated: 'many hosts on slow links: groups of all algorithms, and casts',
  cosmos: 'one generator and 455 overlapping groups of three others, objects of many sizes',
  concurrent: '1, n/2 and n overlapping groups at once: bandwidth in all, and its spread',
  cpu: 'CPU seconds per GiB and member, and memory: groups, cast, nc | tee, udpcast, scp in a loop',
  'own-links': 'members with linkRate on loopback beside the same members in hosts of the lab',
  compress: 'rdmc cast with and without --compress on slow links: contents that shrink, and others',
  'small-files': '20,000 small files: cast, tar | nc',
};

const HELP = `usage: node tools/bench/network/run.mjs CASE [options]

Cases:
${Object.entries(CASES)
  .map(([name, about]) => `  ${name.padEnd(12)}  ${about}`)
  .join('\n')}

Options:
  --members 2,4,8    numbers of hosts, the sender counted       (default: the case's own)
  --mib 64,8         sizes in MiB                               (default: the case's own)
  --rate RATE        each direction of each host's link         (default: 400mbit; 25mbit of dilated, 100mbit of cosmos)
  --rounds N         rounds; each has every rival once          (default: 3)
  --only a,b         of rdmc, cast, chain, relay, mpi, scp, udpcast (default: all)
  --algorithm a,b    of the groups                              (default: binomial-pipeline,chain)
  --windows a,b      of the groups: default, or RECEIVE/SEND/READY (default: default)
  --relay a,b        of the groups, in large and cpu: worker, device (default: worker)
  --window-ms N      of dilated: how long threads of groups poll after work; 0: they always sleep (default: 50)
  --queue TIME       of dilated: longest wait in the queue before a link (default: 50ms)
  --block KIB        block size of the groups; of racks: a list (default: automatic)
  --only-racks       of racks: only hybrid, and the chain by rack
  --messages a,b     of running: largest messages in MiB          (default: the command's own)
  --oversubscribed   of concurrent: two racks whose uplinks leave 16/56 of the rate for each host
  --no-encrypt       of running: casts are not encrypted
  --few              fewer of MPI's algorithms are tried
  --install          install missing rivals with apt-get
  --json             JSON on standard output instead of a table

Times are seconds from the submission at the root to the slowest member's arrival; data is checked.
`;
const ALGORITHMS = {
  dilated: 'binomial-pipeline,chain,binomial-tree,sequential',
  cosmos: 'binomial-pipeline,binomial-tree,sequential',
};
const RATES = { dilated: '25mbit', cosmos: '100mbit' };
const USAGE = 2;
const KIB = 1024;

const numbers = (text) => text?.split(',').map(Number);

function optionsOf(argv) {
  const { values, positionals } = parseArgs({
    args: argv,
    allowPositionals: true,
    options: {
      members: { type: 'string' },
      mib: { type: 'string' },
      rate: { type: 'string' },
      rounds: { type: 'string', default: '3' },
      only: { type: 'string' },
      algorithm: { type: 'string' },
      windows: { type: 'string', default: 'default' },
      relay: { type: 'string', default: 'worker' },
      'window-ms': { type: 'string' },
      queue: { type: 'string', default: '50ms' },
      block: { type: 'string' },
      messages: { type: 'string' },
      'no-encrypt': { type: 'boolean', default: false },
      'only-racks': { type: 'boolean', default: false },
      oversubscribed: { type: 'boolean', default: false },
      few: { type: 'boolean', default: false },
      install: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  return {
    name: positionals[0],
    help: values.help,
    members: numbers(values.members),
    mib: numbers(values.mib),
    rate: values.rate ?? RATES[positionals[0]] ?? '400mbit',
    rounds: Number(values.rounds),
    only: values.only?.split(','),
    algorithms: (values.algorithm ?? ALGORITHMS[positionals[0]] ?? 'binomial-pipeline,chain').split(','),
    windows: values.windows.split(',').map(windowsOf),
    relays: values.relay.split(','),
    queue: values.queue,
    windowMs: values['window-ms'] === undefined ? undefined : Number(values['window-ms']),
    blockBytes: values.block ? numbers(values.block)[0] * KIB : 'auto',
    blockSizes: values.block ? numbers(values.block).map((kib) => kib * KIB) : ['auto'],
    onlyRacks: values['only-racks'],
    messages: numbers(values.messages),
    encrypt: !values['no-encrypt'],
    oversubscribed: values.oversubscribed,
    few: values.few,
    install: values.install,
    json: values.json,
  };
}

/** The windows of groups, from text such as `32/1/1`, and their part of a name. */
function windowsOf(text) {
  if (text === 'default') return { label: '' };
  const [receiveWindow, sendWindow, readyWindow] = numbers(text.replaceAll('/', ','));
  return { label: ` ${text}`, receiveWindow, sendWindow, readyWindow };
}

function machine() {
  const model = /model name\s*: (.*)/.exec(readFileSync('/proc/cpuinfo', 'utf8'))?.[1];
  return { cpu: model, cores: cpus().length, node: process.version };
}

async function main() {
  const options = optionsOf(process.argv.slice(2));
  const wanted = Object.hasOwn(CASES, options.name ?? '') ? options.name : undefined;
  if (wanted === undefined || options.help) {
    (options.help ? process.stdout : process.stderr).write(HELP);
    process.exitCode = options.help ? 0 : USAGE;
    return;
  }
  // The laboratory's own words where root, a tool or a kernel module is missing.
  await (await createLab({ hosts: 1, rate: options.rate })).destroy();
  const { [camelCase(wanted)]: work } = await import(`./cases/${wanted}.mjs`);
  const rows = await work(options);
  const facts = { benchmark: wanted, rate: options.rate, rounds: options.rounds, ...machine() };
  console.log(options.json ? JSON.stringify({ ...facts, rows }, null, 2) : table(rows));
  if (!options.json)
    say(
      Object.entries(facts)
        .map(([name, value]) => `${name}: ${value}`)
        .join(', '),
    );
}

const camelCase = (name) => name.replace(/-(.)/g, (_, letter) => letter.toUpperCase());

// The lab and the files in memory go at the end of the process, whatever ends it.
for (const [signal, number] of [
  ['SIGINT', 2],
  ['SIGTERM', 15],
  ['SIGHUP', 1],
]) {
  process.once(signal, () => process.exit(128 + number));
}
try {
  await main();
} catch (error) {
  if (!error.code) throw error;
  say(`${error.message} [${error.code}]`);
  process.exitCode = 1;
}
