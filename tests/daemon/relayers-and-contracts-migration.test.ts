import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { openAdminApp } from '../support/admin.ts'
import type { openTestApp } from '../support/daemon.ts'
import { writtenBefore } from '../support/written-before.ts'

const at = '2026-06-01T12:00:00.000Z'
const address = '0x5FbDB2315678afecb367f032d93F642f64180aa3'

const record = ({ db }: Pick<Awaited<ReturnType<typeof openTestApp>>['ctx'], 'db'>) =>
  db.write((trx) =>
    sql`insert into transactions ("chainId", signer, kind, subject, "createdAt", "updatedAt", state, signings)
      values (7, 'relayer', 'tally', '{}', ${at}, ${at}, 'queued', 0)`.execute(trx),
  )

test('transactions of the version before keep their relayer, and it writes more of them beside', async () => {
  const opened = await writtenBefore('0027-relayers-and-contracts', async (ctx) => {
    await record(ctx)
    await ctx.db.write((trx) =>
      sql`insert into senders ("chainId", address, "nextNonce") values (7, '0x01', 5)`.execute(trx),
    )
  })
  const { ctx, close } = await openAdminApp(opened)
  await record(ctx)
  const rows = await ctx.db.read
    .selectFrom('transactions')
    .select(['signer', 'candidates', 'sequence'])
    .execute()
  expect(rows).toEqual(Array(2).fill({ signer: 'relayer', candidates: null, sequence: null }))
  expect(await ctx.db.read.selectFrom('senders').select(['nextNonce', 'jam']).execute()).toEqual([
    { nextNonce: 5, jam: null },
  ])
  await close()
})

test('contracts of the version before move tokens by signed claims, show no royalty, and can be edited', async () => {
  const opened = await writtenBefore('0027-relayers-and-contracts', ({ db }) =>
    db.write(async (trx) => {
      await sql`insert into teams (name, "createdAt") values ('Acme', ${at})`.execute(trx)
      await sql`insert into contracts ("teamId", kind, symbol, name, "chainId", address, status, "createdAt")
        select id, 'phygital', 'JKT', 'Jackets', 5, ${address}, 'confirmed', ${at} from teams`.execute(trx)
    }),
  )
  const { call, close } = await openAdminApp(opened)
  const [contract] = (await call('GET /admin/contracts')).body
  const none = { description: null, image: null, banner: null, externalLink: null, royalty: null }
  const noCalls = { transfer: null, mint: null }
  expect(contract).toMatchObject({ symbol: 'JKT', address, ...none, ...noCalls, features: null })
  const edited = await call(`PATCH /admin/contracts/${contract.id}`, { description: 'Jackets with a chip' })
  expect(edited).toMatchObject({ status: 200, body: { ...none, description: 'Jackets with a chip' } })
  await close()
})
