import type { Command } from 'commander';

export interface CoordinatorStateFlags {
  readonly etcd?: string[];
  readonly etcdPrefix?: string;
  readonly etcdCaFile?: string;
}

/** Where the coordinator's state is, if not in a file. */
export function coordinatorStateOptions(command: Command): Command {
  return command
    .option('--etcd <urls>', 'endpoints of etcd, with commas, to keep the state there', (text) =>
      text.split(','),
    )
    .option('--etcd-prefix <prefix>', 'before every key in etcd: one per cluster')
    .option(
      '--etcd-ca-file <path>',
      'for https endpoints (RDMC_ETCD_USER and RDMC_ETCD_PASSWORD for its users)',
    );
}
