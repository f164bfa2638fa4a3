/** A rule about which entries take part in a cast. */
export interface FilterRule {
  readonly action: 'include' | 'exclude';
  /** As for rsync: see the README. */
  readonly pattern: string;
}
