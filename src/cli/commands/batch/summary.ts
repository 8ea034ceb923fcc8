import { flag } from '../../command/options.ts'

/** Of batches with a journal. */
export const skipDamaged = flag('--skip-damaged', 'Continue without journal lines that cannot be read')
