import { NETEM_LIMIT_PACKETS } from './constants.js';
import type { Shape } from './options.js';

/**
 * Lines for `tc -batch` that give one end of a link its shape. Kernel queues keep their handle while they keep
 * their kind, so that a change of rate at run time keeps what is queued:
 *
 *   rate alone            1: tbf
 *   delay or loss         2: netem, and below it, where there is a rate, 3: tbf
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

/** What of the kernel's a shape needs. */
export function kernelNeeds(shape: Shape): ('tbf' | 'netem')[] {
  return [
    ...(shape.rate === undefined ? [] : (['tbf'] as const)),
    ...(shape.delay === undefined && shape.loss === undefined ? [] : (['netem'] as const)),
  ];
}
