/** What is different from the paper in every measurement here. */
export const ON_ONE_HOST =
  'All servers, backups and the load share two cores of one host over shared memory, so only ratios say something.';
