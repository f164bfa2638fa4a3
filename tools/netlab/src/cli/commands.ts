import { attachLab, createLab } from '../create.js';
import { invalidOption } from '../errors.js';
import type { Netlab } from '../lab.js';
import { probe } from '../probe.js';
import { collectGarbage, removeLab } from '../remove.js';
import { findLabs } from '../state.js';
import { type Arguments, allow, LAB_OPTIONS, labOptions } from './arguments.js';
import { exitOf, runInLab } from './run.js';

type Command = (args: Arguments) => Promise<number>;

const print = (text: string) => process.stdout.write(`${text}\n`);

/** A command on an existing lab, with that many words. */
function onLab(usage: string, work: (lab: Netlab, ...words: string[]) => unknown): Command {
  const words = usage.split(' ').length - 1;
  return async (args) => {
    allow(args, ['lab'], words, usage);
    await work(attachLab(args.options.lab), ...args.words);
    return 0;
  };
}

function show(lab: Netlab): void {
  for (const host of lab.hosts)
    print([lab.name, host.name, host.ipv4, host.ipv6, `rack ${host.rack}`].join('\t'));
}

async function goodput(args: Arguments): Promise<number> {
  const [from, to, mebibytes = '64'] = args.words;
  allow(args, ['lab'], args.words.length === 3 ? 3 : 2, 'goodput FROM TO [MEBIBYTES]');
  const result = await attachLab(args.options.lab).goodput(from!, to!, Number(mebibytes) * 2 ** 20);
  print(
    `${mebibytes} MiB in ${result.seconds.toFixed(3)} s: ${(result.bitsPerSecond / 1e6).toFixed(1)} Mbit/s`,
  );
  return 0;
}

async function list(args: Arguments): Promise<number> {
  allow(args, ['json'], 0, 'list [--json]');
  const labs = findLabs();
  if (args.options.json) {
    print(JSON.stringify(labs.map(({ name, state, plan }) => ({ name, state, hosts: plan?.hosts ?? [] }))));
    return 0;
  }
  for (const { name, state, plan } of labs) {
    print(`${name}: ${state}${state === 'orphan' ? ', netlab gc removes it' : ''}`);
    for (const host of plan?.hosts ?? [])
      print(`  ${host.name}\t${host.ipv4}\t${host.ipv6}\track ${host.rack}`);
  }
  return 0;
}

async function down(args: Arguments): Promise<number> {
  allow(args, ['lab', 'all'], 0, 'down [--lab NAME | --all]');
  if (!args.options.all) {
    await attachLab(args.options.lab).destroy();
    return 0;
  }
  for (const lab of findLabs()) removeLab(lab.name, lab.namespaces);
  return 0;
}

async function check(args: Arguments): Promise<number> {
  allow(args, [], 0, 'check');
  const found = await probe();
  for (const [feature, works] of found) print(`${feature}\t${works ? 'works' : 'missing in this kernel'}`);
  return [...found.values()].every(Boolean) ? 0 : 1;
}

export const COMMANDS: Readonly<Record<string, Command>> = {
  async run(args) {
    allow(args, [...LAB_OPTIONS, 'name', 'on', 'each'], 0, 'run [options] -- COMMAND...');
    return runInLab(args, args.command);
  },
  async shell(args) {
    allow(args, [...LAB_OPTIONS, 'name', 'on'], 0, 'shell [options] [--on HOST]');
    return runInLab(args, [process.env.SHELL ?? '/bin/sh']);
  },
  async up(args) {
    allow(args, [...LAB_OPTIONS, 'name'], 0, 'up [options] [--name NAME]');
    show(await createLab({ ...labOptions(args), detached: true }));
    return 0;
  },
  down,
  async exec(args) {
    allow(args, ['lab'], 1, 'exec [--lab NAME] HOST -- COMMAND...');
    const [program, ...rest] = args.command;
    if (program === undefined) throw invalidOption('no command: netlab exec HOST -- COMMAND...');
    const child = attachLab(args.options.lab).exec(args.words[0]!, program, rest, { stdio: 'inherit' });
    process.on('SIGINT', () => {});
    return exitOf(child, program);
  },
  list,
  check,
  async gc(args) {
    allow(args, ['all'], 0, 'gc [--all]');
    for (const name of collectGarbage({ detached: args.options.all !== undefined })) print(`removed ${name}`);
    return 0;
  },
  cut: onLab('cut HOST', (lab, host) => lab.cut(host!)),
  heal: onLab('heal HOST', (lab, host) => lab.heal(host!)),
  slow: onLab('slow HOST RATE', (lab, host, rate) => lab.slow(host!, rate!)),
  'slow-rack': onLab('slow-rack RACK RATE', (lab, rack, rate) => lab.slowRack(Number(rack), rate!)),
  'slow-path': onLab('slow-path HOST HOST RATE', (lab, a, b, rate) => lab.slowPath(a!, b!, rate!)),
  loss: onLab('loss HOST SHARE', (lab, host, share) => lab.loss(host!, share!)),
  delay: onLab('delay HOST TIME', (lab, host, time) => lab.delay(host!, time!)),
  pause: onLab('pause HOST', (lab, host) => lab.pause(host!)),
  resume: onLab('resume HOST', (lab, host) => lab.resume(host!)),
  goodput,
};
