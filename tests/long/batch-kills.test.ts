import { test, vi } from 'vitest'
import { killBatches, kinds } from '../support/batch-kills.ts'

// What resumes a batch runs in this process, and is another machine to the daemon and to the journal.
vi.mock('node:os', async (original) => ({
  ...(await original<typeof import('node:os')>()),
  hostname: () => 'another-machine',
}))

// CI has time for some of them: TAPCHIP_KILLS=30 is the whole drill.
const kills = Number(process.env.TAPCHIP_KILLS ?? 6)

test.each(Object.keys(kinds))(
  `${kills} kills amid %s, of its machine, its daemon, or both: another machine finishes, each row once`,
  (name) => killBatches(name, kills),
)
