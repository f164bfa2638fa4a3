/** A rule about which entries take part in a cast. */
export interface FilterRule {
  /** 'include': entries that match take part; 'exclude': they do not. */
  readonly action: 'include' | 'exclude';
  /** As for rsync: see the README. */
  readonly pattern: string;
}
