import { fork } from 'node:child_process';
import type { Server } from 'node:net';
import { fileURLToPath } from 'node:url';
import { underTest, WatchedProcess } from '@rdmc/testing';

const PROGRAM = fileURLToPath(new URL('./member.mjs', import.meta.url));

interface Said extends Record<string, unknown> {
  readonly kind: string;
}

/** A member in a process of its own (`member.mjs`), which does what its options say and reports over IPC. */
export class Child extends WatchedProcess<Said, 'kind'> {
  constructor(options: object, server: Server) {
    super(fork(PROGRAM, { silent: true }), 'kind', { name: 'member.mjs' });
    underTest(this);
    this.child.send(options, server);
    server.close();
  }
}
