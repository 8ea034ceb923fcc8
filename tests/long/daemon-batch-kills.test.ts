import { afterAll, beforeAll, describe, test } from 'vitest'
import { daemonToKill, type KilledDaemon } from '../support/daemon-batch-kills.ts'
import { killedKinds } from '../support/daemon-batch-kinds.ts'

// CI has time for some of them: TAPCHIP_KILLS=30 is the whole drill.
const kills = Number(process.env.TAPCHIP_KILLS ?? 2)

describe.each([
  { chain: false, about: 'in the database' },
  { chain: true, about: 'on a chain' },
])('batches $about', ({ chain }) => {
  let killed: KilledDaemon
  beforeAll(async () => {
    killed = await daemonToKill({ chain })
  })
  afterAll(() => killed.end())

  test.each(Object.entries(killedKinds).filter(([, kind]) => chain === 'chain' in kind))(
    `${kills} kills amid %s, of its command, its daemon, or both: it goes on by itself, each row once`,
    (name, kind) => killed.kill(name, kind, kills),
    300_000 + kills * 20_000,
  )
})
