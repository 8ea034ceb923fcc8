import { expect, test } from 'vitest'
import { type CliHome, withDaemon } from '../support/cli.ts'
import type { TestDaemon } from '../support/daemon.ts'
import { seed } from '../support/seeds.ts'

let daemon: TestDaemon
let here: CliHome
withDaemon({ seed, chain: true, env: { TAPCHIP_RELAYERS_31337: '2' } }, (home, started) => {
  here = home
  daemon = started
})

interface Finding {
  check: string
  status: string
  detail: string
  fix: string | null
}
const findings = async () =>
  ((await here.run('doctor', '--json')).json() as Finding[]).filter(({ check }) =>
    check.startsWith('chain 31337'),
  )
const second = () => daemon.ctx.chains.get(31337).relayers[1]?.address ?? ''

test('doctor names the address of each relayer, and which one cannot pay', async () => {
  const { relayer } = daemon.ctx.chains.get(31337)
  expect(await findings()).toMatchObject([
    { check: 'chain 31337', status: 'ok', detail: expect.stringContaining(relayer) },
    { check: 'chain 31337 relayer-2', status: 'ok', detail: expect.stringContaining(second()) },
  ])
  await daemon.ctx.db.write((trx) =>
    trx.updateTable('senders').set({ jam: 'funds' }).where('address', '=', second()).execute(),
  )
  const [first, other] = await findings()
  expect(first?.status).toBe('ok')
  expect(other).toMatchObject({ status: 'warn', fix: `send some of the chain's coin to ${second()}` })
})

test('doctor says what belongs to a relayer that is not configured, and what to do', async () => {
  await daemon.ctx.db.write((trx) =>
    trx
      .insertInto('transactions')
      .values({
        ...{
          chainId: 31337,
          signer: 'relayer-3',
          kind: 'tally',
          subject: '{}',
          state: 'queued',
          signings: 0,
        },
        ...{ createdAt: '2026-06-01T12:00:00.000Z', updatedAt: '2026-06-01T12:00:00.000Z' },
      })
      .execute(),
  )
  expect(await findings()).toContainEqual({
    check: 'chain 31337 relayer-3',
    status: 'fail',
    detail: '1 transaction of relayer-3, which is not configured here, cannot go on',
    fix: expect.stringContaining('TAPCHIP_RELAYERS_31337'),
  })
})
