import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { underTest, WatchedProcess } from '@rdmc/testing';

const PROGRAM = fileURLToPath(new URL('./member.mjs', import.meta.url));

interface Said extends Record<string, unknown> {
  readonly kind: string;
}

/**
 * A member in its own process (`member.mjs`), which acts as its options say and reports over IPC. It listens on its port
 * itself: a server that is sent to a process accepts connections before the process has loaded the code that answers them.
 */
export class Child extends WatchedProcess<Said, 'kind'> {
  constructor(options: object) {
    super(fork(PROGRAM, { silent: true }), 'kind', { name: 'member.mjs' });
    underTest(this);
    this.child.send(options);
  }
}
