/** One member of the mesh. Every member is given the same list, in any order. */
export interface Member {
  /** Integer from 0 to 2^31 − 1, unique in the list. */
  readonly id: number;
  /** Host name, IPv4 or IPv6 address (without brackets) at which the others reach this member. */
  readonly host: string;
  /** TCP port, 1 to 65535. */
  readonly port: number;
}
