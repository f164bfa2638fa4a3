import type { Command } from 'commander';

export interface CoordinatorStateFlags {
  readonly etcd?: string[];
  readonly etcdPrefix?: string;
  readonly etcdCaFile?: string;
}

/** The options of a state in etcd. */
export function coordinatorStateOptions(command: Command): Command {
  return command
    .option('--etcd <urls>', 'endpoints of etcd, with commas, to keep the state there', (text) =>
      text.split(','),
    )
    .option('--etcd-prefix <prefix>', 'prefix of each key in etcd: one per cluster')
    .option(
      '--etcd-ca-file <path>',
      'certificate authority of https endpoints (users: RDMC_ETCD_USER, RDMC_ETCD_PASSWORD)',
    );
}
