import { createHmac, hkdfSync } from 'node:crypto'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { newSecret } from '../../src/daemon/domain/access/credentials.ts'
import { openTestApp } from '../support/daemon.ts'
import { writtenBefore } from '../support/written-before.ts'

test('credentials of the version before stay valid, and its tokens are for all teams', async () => {
  const [key, token] = [newSecret('apiKeys'), newSecret('adminTokens')]
  const opened = await writtenBefore('0028-credentials', async ({ box, db, credentials }) => {
    // As that version computes it.
    const rowKey = Buffer.from(
      box.withKey((key) => hkdfSync('sha256', key, '', 'tapchip credential rows', 32)),
    )
    const sealOf = (columns: readonly unknown[]) =>
      createHmac('sha256', rowKey).update(JSON.stringify(columns)).digest('base64url')
    const [keyMac, tokenMac] = [credentials.macOf('apiKeys', key), credentials.macOf('adminTokens', token)]
    const at = '2026-06-01T12:00:00.000Z'
    await db.write(async (trx) => {
      await trx
        .insertInto('teams')
        .values([
          { name: 'Acme', createdAt: at },
          { name: 'Globex', createdAt: at },
        ])
        .execute()
      const { id } = await trx.selectFrom('teams').select('id').orderBy('id').executeTakeFirstOrThrow()
      await sql`insert into "apiKeys" ("teamId", name, hash, mac, seal, hint, scopes, "createdAt") values
        (${id}, 'ops', ${keyMac}, ${keyMac}, ${sealOf(['apiKeys', keyMac, id, 'ops', '["read"]', null])}, 'svc_…',
        '["read"]', ${at})`.execute(trx)
      await sql`insert into "adminTokens" (name, hash, mac, seal, scopes, "createdAt") values
        ('desk', ${tokenMac}, ${tokenMac}, ${sealOf(['adminTokens', tokenMac, null, 'desk', '["read"]', null])},
        '["read"]', ${at})`.execute(trx)
    })
  })

  const { app, close } = await openTestApp(opened)
  const teamsAs = async (headers: Record<string, string>) => {
    const teams: { name: string }[] = (await app.inject({ url: '/admin/teams', headers })).json()
    return teams.map(({ name }) => name)
  }
  expect(await teamsAs({ 'x-svc-api-key': key })).toEqual(['Acme'])
  expect(await teamsAs({ authorization: `Bearer ${token}` })).toEqual(['Acme', 'Globex'])
  await close()
})
