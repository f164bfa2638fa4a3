import { HOST_INTERFACE, NETEM_LIMIT_PACKETS, PATH_FREE_RATE, PATH_QUEUE_BYTES } from './constants.js';
import type { Shape } from './options.js';
import type { Host, PlannedHost } from './plan.js';

/**
 * Lines for `tc -batch` that shape one end of a link. Kernel queues keep their handle while they keep
 * their kind, so that a change of rate at run time keeps queued packets:
 *
 *   rate alone            1: tbf
 *   delay or loss         2: netem, and below it, with a rate, 3: tbf
 */
export function shapeLines(device: string, shape: Shape): string[] {
  const bucket = `tbf rate ${shape.rate} burst ${shape.burst} latency ${shape.latency}`;
  if (shape.delay === undefined && shape.loss === undefined) {
    return shape.rate === undefined ? [] : [`qdisc replace dev ${device} root handle 1: ${bucket}`];
  }
  const delay = shape.delay === undefined ? '' : ` delay ${shape.delay}`;
  const loss = shape.loss === undefined ? '' : ` loss ${shape.loss}`;
  const first = `qdisc replace dev ${device} root handle 2: netem limit ${NETEM_LIMIT_PACKETS}${delay}${loss}`;
  return shape.rate === undefined
    ? [first]
    : [first, `qdisc replace dev ${device} parent 2: handle 3: ${bucket}`];
}

/** Features of the kernel that a shape needs. */
export function kernelNeeds(shape: Shape): ('tbf' | 'netem')[] {
  return [
    ...(shape.rate === undefined ? [] : (['tbf'] as const)),
    ...(shape.delay === undefined && shape.loss === undefined ? [] : (['netem'] as const)),
  ];
}

const FREE_CLASS = 1;
const FIRST_PATH_CLASS = 2;

function classLines(number: number, verb: 'add' | 'replace', rate: string, burst: string): string[] {
  // A quantum of one 64 KiB segment: only classes of different rates share the link, never by weight.
  const shaped = `htb rate ${rate} burst ${burst} cburst ${burst} quantum 65536`;
  const line = `class ${verb} dev ${HOST_INTERFACE} parent 10: classid 10:${number} ${shaped}`;
  return verb === 'replace'
    ? [line]
    : [line, `qdisc add dev ${HOST_INTERFACE} parent 10:${number} bfifo limit ${PATH_QUEUE_BYTES}`];
}

/**
 * Lines that limit the rate of packets from `from` to `to`, within its link's rate; `paths` are the existing ones:
 *
 *   1: or 3: tbf, the link   >  10: htb  >  10:1  everything else
 *                                        >  10:2  to the first host slowed, and so on
 */
export function pathLines(from: PlannedHost, to: Host, rate: string): string[] {
  const known = Object.keys(from.paths);
  const { burst } = from.link;
  const at = known.indexOf(to.name);
  if (at >= 0) return classLines(FIRST_PATH_CLASS + at, 'replace', rate, burst);
  const tbf = from.link.delay === undefined && from.link.loss === undefined ? '1:1' : '3:1';
  const first = [
    `qdisc add dev ${HOST_INTERFACE} parent ${tbf} handle 10: htb default ${FREE_CLASS}`,
    ...classLines(FREE_CLASS, 'add', PATH_FREE_RATE, burst),
  ];
  const number = FIRST_PATH_CLASS + known.length;
  const filter = `filter add dev ${HOST_INTERFACE} parent 10:`;
  return [
    ...(known.length === 0 ? first : []),
    ...classLines(number, 'add', rate, burst),
    `${filter} protocol ip u32 match ip dst ${to.ipv4}/32 flowid 10:${number}`,
    `${filter} protocol ipv6 u32 match ip6 dst ${to.ipv6}/128 flowid 10:${number}`,
  ];
}
