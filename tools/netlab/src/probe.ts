import { PREFIX } from './constants.js';
import { NetlabError } from './errors.js';
import { requireTools, run } from './tools.js';

/** Features of the kernel, and the configuration options that provide them. */
const FEATURES = {
  netns: { module: 'CONFIG_NET_NS (and the right to mount /run/netns)', command: undefined },
  veth: { module: 'veth (CONFIG_VETH)', command: ['ip', 'link add v0 type veth peer name v1'] },
  bridge: { module: 'bridge (CONFIG_BRIDGE)', command: ['ip', 'link add b0 type bridge'] },
  tbf: {
    module: 'sch_tbf (CONFIG_NET_SCH_TBF)',
    command: ['tc', 'qdisc add dev lo root tbf rate 1gbit burst 128kb latency 50ms'],
  },
  htb: {
    module: 'sch_htb (CONFIG_NET_SCH_HTB) or cls_u32 (CONFIG_NET_CLS_U32)',
    command: ['tc', 'qdisc replace dev lo root handle 9: htb'],
  },
  netem: {
    module: 'sch_netem (CONFIG_NET_SCH_NETEM)',
    command: ['tc', 'qdisc replace dev lo root netem delay 1ms'],
  },
} as const;

export type Feature = keyof typeof FEATURES;
export const ALL_FEATURES = Object.keys(FEATURES) as Feature[];

let probes = 0;

async function works(feature: Feature, namespace: string): Promise<boolean> {
  const command = FEATURES[feature].command;
  if (command === undefined) return true;
  try {
    await run([command[0], '-n', namespace, ...command[1].split(' ')]);
    return true;
  } catch {
    return false;
  }
}

/** Tries each feature in a temporary namespace. */
export async function probe(features: readonly Feature[] = ALL_FEATURES): Promise<Map<Feature, boolean>> {
  requireTools();
  probes += 1;
  const namespace = `${PREFIX}.probe-${process.pid}-${probes}.PROBE`;
  try {
    await run(['ip', 'netns', 'add', namespace]);
  } catch {
    return new Map(features.map((feature) => [feature, false]));
  }
  try {
    const found = new Map<Feature, boolean>();
    for (const feature of features) found.set(feature, await works(feature, namespace));
    return found;
  } finally {
    await run(['ip', 'netns', 'del', namespace]);
  }
}

/** After a command failed: an error that names the missing features of the kernel, or else the original error. */
export async function explain(error: unknown, needed: readonly Feature[]): Promise<unknown> {
  const missing = [...(await probe(needed))].filter(([, works]) => !works).map(([feature]) => feature);
  if (missing.length === 0) return error;
  const first = missing[0]!;
  return new NetlabError(
    'ERR_RDMC_NETLAB_KERNEL_MODULE_MISSING',
    `this kernel lacks ${missing.map((each) => FEATURES[each].module).join(', ')}: load it (modprobe ` +
      `${FEATURES[first].module.split(' ')[0]}), boot a kernel that has it, or leave out ` +
      (missing.every((each) => each === 'netem') ? 'delay and loss' : 'the options that need it'),
    error,
  );
}
