/** Whether tests run that take long and add little to the others: RDMC_TEST_LONG=1. */
export const LONG = process.env.RDMC_TEST_LONG === '1';

/** The end of the title of such a test. */
export const LONG_NOTE = LONG ? '' : ' [skipped: set RDMC_TEST_LONG=1 to run it]';
