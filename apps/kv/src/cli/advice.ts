/** The options that help after an error of the packages below, by its code: those packages do not know options. */
const ADVICE: Readonly<Record<string, string>> = {
  ERR_RDMC_TOO_FEW_BACKUPS:
    'a cluster needs one server more than --replicas: list more servers in --members, or give all of them fewer --replicas',
  ERR_RDMC_MESH_LISTEN_FAILED:
    'a process of this member may run already: end it; otherwise correct the address in --members or --listen',
  ERR_RDMC_MESH_WRONG_KEY: 'give all members the same key: --key-file, or RDMC_KEY',
  ERR_RDMC_MESH_TIMEOUT:
    'start the missing members with the same --members and --key-file, or raise --join-seconds',
};

/** Undefined: the message says what to do, or nothing is known. */
export function adviceFor(code: string): string | undefined {
  return ADVICE[code];
}
