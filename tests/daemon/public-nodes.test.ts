import { describe, test } from 'vitest'
import { cases } from '../support/public-node/cases.ts'
import { assertConfirmedOnce } from '../support/public-node/run.ts'

// A few of what tests/long/nodes.test.ts has, with quick blocks.

const some = [
  'batches of at most 3, others answered by one error',
  'claims that need 300,000 gas',
  'a tip of 25 gwei where 1 is suggested, told as by bor',
  'nonces that lag 3 blocks now and then',
  'no EIP-1559, told as "transaction type not supported"',
  'two nodes, one of which fails',
]

describe.concurrent('each action is confirmed once with', { timeout: 300_000 }, () => {
  test.for(some)('%s', async (name) => {
    const one = cases.find((found) => found.name === name)
    if (!one) throw new Error(`there is no case "${name}"`)
    await assertConfirmedOnce({ ...one, blockMs: 100 })
  })
})
