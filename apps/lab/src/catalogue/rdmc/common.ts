import type { Algorithm } from '@rdmc/schedule';
import type { WindowsName } from '@rdmc/simulator';

/** The algorithms of the paper's figures. */
export const ALGORITHMS: readonly Algorithm[] = ['sequential', 'binomial-tree', 'chain', 'binomial-pipeline'];

/** Windows that figures are simulated with, and what their panels say about them. */
export const WINDOWS: readonly {
  readonly id: WindowsName;
  readonly label: string;
  readonly about: string;
}[] = [
  {
    id: 'paper',
    label: 'windows of the paper',
    about: 'two receives posted, one announced, one send at a time, as in the implementation of the paper',
  },
  {
    id: 'shipped',
    label: 'shipped windows',
    about:
      'the defaults of @rdmc/group: one announced receive and one send in pipelines of 5, 6, 7, 9 to 15 members',
  },
];

/** What predictions do not have in them. */
export const COSTS_ARE_ASSUMED =
  'Costs of processors and NICs are assumptions of the presets (packages/simulator/README.md); latencies of single ' +
  'packets, switches and other tenants are not simulated.';
