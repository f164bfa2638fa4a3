import { readFileSync } from 'node:fs';

const USERS = '/etc/passwd';
const GROUPS = '/etc/group';
const ID = /^\d{1,10}$/;

/** The users or the groups of a host: a file with the format of /etc/passwd or /etc/group. Names are latin1. */
export class Accounts {
  readonly #names = new Map<number, string>();
  readonly #ids = new Map<string, number>();

  /** Lines that are malformed, and those that refer to a network service, are passed over. The first of two lines counts. */
  constructor(text: string) {
    for (const line of text.split('\n')) {
      const [name = '', , digits = ''] = line.split(':', 3);
      if (name === '' || !ID.test(digits)) continue;
      const id = Number(digits);
      if (!this.#names.has(id)) this.#names.set(id, name);
      if (!this.#ids.has(name)) this.#ids.set(name, id);
    }
  }

  nameOf(id: number): string | undefined {
    return this.#names.get(id);
  }

  idOf(name: string): number | undefined {
    return this.#ids.get(name);
  }
}

/** Users and groups. */
export interface HostAccounts {
  readonly users: Accounts;
  readonly groups: Accounts;
}

/** Those in the files of this host; none where these cannot be read. */
export function accountsHere(): HostAccounts {
  return { users: new Accounts(textOf(USERS)), groups: new Accounts(textOf(GROUPS)) };
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}
