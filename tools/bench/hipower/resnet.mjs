// ResNet-152's parameters by push, pull and the baseline in turn, round by round; medians of all iterations but the
// first of each run, which warms up. Usage: node tools/bench/hipower/resnet.mjs [shm|tcp] [rounds]
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const COMMAND = fileURLToPath(new URL('../../../apps/paramserver/dist/main.js', import.meta.url));
const PROTOCOLS = ['push', 'pull', 'baseline'];
const COLUMNS = {
  'completion ms': (r) => r.completionMs,
  'server CPU ms': (r) => r.serverCpuMs,
  'workers CPU ms': (r) => r.workersCpuMs,
  'device threads ms': (r) => r.nicCpuMs,
  'messages/s': (r) => r.messagesPerSecond,
  'READs/message': (r) => r.readsPerMessage,
  'looks/message': (r) => r.looksPerMessage,
  'in vain': (r) => r.fruitlessShare,
};

const [transport = 'shm', rounds = '5'] = process.argv.slice(2);
const results = Object.fromEntries(PROTOCOLS.map((protocol) => [protocol, []]));
for (let round = 0; round < Number(rounds); round += 1) {
  for (const protocol of PROTOCOLS) {
    const args = ['--protocol', protocol, '--iterations', '3', '--transport', transport, '--json'];
    const { stdout } = await promisify(execFile)('node', [COMMAND, ...args]);
    results[protocol].push(...JSON.parse(stdout).iterations.slice(1));
  }
}
const row = (cells) => console.log(`| ${cells.join(' | ')} |`);
console.log(`# ResNet-152 over ${transport}, ${rounds} rounds, medians`);
row(['protocol', ...Object.keys(COLUMNS)]);
row(['protocol', ...Object.keys(COLUMNS)].map(() => '---'));
for (const protocol of PROTOCOLS) {
  row([protocol, ...Object.values(COLUMNS).map((pick) => show(median(results[protocol].map(pick))))]);
}

function median(values) {
  return values.sort((a, b) => a - b)[Math.floor(values.length / 2)];
}

function show(value) {
  return value >= 100 ? value.toFixed(0) : value.toFixed(2);
}
