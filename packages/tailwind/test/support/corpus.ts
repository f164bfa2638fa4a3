/** Segments that are difficult for a scan, in hex; the fuzz tests start from them and change them. */
export const HOSTILE_SEGMENTS: Readonly<Record<string, string>> = {
  'a length of 4 GiB': '02000000ffffffff00000000',
  'a length one beyond the end': '020000000500000000000000aabbccdd',
  'a length that wraps to the beginning': '02000000f4ffffff00000000',
  'an object without a payload': '020000000000000000000000',
  'a checksum that closes nothing': '09000000040000000000000001000000',
  'a checksum of no bytes': '090000000000000000000000',
  'a checksum of value 0': '09000000040000000000000000000000',
  'a type that does not exist': '0a0000000000000000000000',
  'reserved bytes': '020100000000000000000000',
  'eleven bytes': '0200000000000000000000',
  nothing: '',
  zeros: '00000000000000000000000000000000',
};
