import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { keyContext } from '../../src/daemon/domain/chips/key-ring.ts'
import { openTestApp } from '../support/daemon.ts'
import { derived, uids } from '../support/seeds.ts'
import { tap, tapPath } from '../support/taps.ts'
import { writtenBefore } from '../support/written-before.ts'

const forms = [
  { id: 101, macInputFrom: 'd', parameters: { e: 'e', c: 'c', d: 'd' } },
  { id: 102, macInputFrom: 'e', parameters: { e: 'picc_data', c: 'cmac', d: 'ks' } },
  { id: 103, macInputFrom: null, parameters: { e: 'e', c: 'c', d: 'd' } },
] as const
const templates = [
  '?^d={keySet}&e={picc}&c={mac}',
  '?ks={keySet}&^picc_data={picc}&cmac={mac}',
  '?d={keySet}&e={picc}&c={mac}',
]

/** A chip that was lifted before the upgrade. */
const openPlan = {
  version: 1,
  uid: '1293660434600336',
  from: ['factory'],
  target: { keySet: 101, generation: 0 },
  template: { baseUrl: 'https://n.example', d: '101', names: forms[0].parameters, from: 'd' },
}

test('key sets of the version before get the template that they had by its four columns', async () => {
  const opened = await writtenBefore('0026-chip-templates', async ({ box, db }) => {
    const sealed = (id: number, key: 'metaRead' | 'fileRead', hex: string) =>
      box.seal(Buffer.from(hex, 'hex'), keyContext(id, key))
    const insert = (form: (typeof forms)[number]) => {
      const { id, macInputFrom, parameters } = form
      return db.write((trx) =>
        sql`insert into "keySets" (id, "metaReadKey", "fileReadKey", diversification, "systemIdentifier",
            "macInputFrom", "nameOfE", "nameOfC", "nameOfD", "createdAt")
          values (${id}, ${sealed(id, 'metaRead', derived.metaReadKey)}, ${sealed(id, 'fileRead', derived.fileReadKey)},
            ${derived.diversification}, ${(derived.systemIdentifier ?? '').toLowerCase()}, ${macInputFrom},
            ${parameters.e}, ${parameters.c}, ${parameters.d}, '2026-01-01T00:00:00.000Z')`.execute(trx),
      )
    }
    for (const form of forms) await insert(form)
    await db.write((trx) =>
      sql`insert into "nfcPlans" (uid, purpose, plan, "openedAt", "openedBy")
          values (${openPlan.uid}, 'provision', ${JSON.stringify(openPlan)}, '2026-01-01T00:00:00.000Z', 'admin:root')`.execute(
        trx,
      ),
    )
  })

  const after = await openTestApp(opened)
  const shown = async () => (await after.app.inject({ url: '/admin/key-sets', headers: after.admin })).json()
  expect(await shown()).toMatchObject(
    forms.map((form, index) => ({ ...form, template: templates[index], mode: 'aes' })),
  )
  const journal = await after.app.inject({ url: '/admin/nfc/journal', headers: after.admin })
  const url101 = `https://n.example/t?d=101&e=${'0'.repeat(32)}&c=${'0'.repeat(16)}`
  expect(journal.json()).toMatchObject([
    { uid: openPlan.uid, from: ['factory'], closedAt: null, url: url101 },
  ])
  expect(journal.json()[0]).not.toHaveProperty('suppliedKeys')
  const rows = await after.ctx.db.read.selectFrom('keySets').select('template').orderBy('id').execute()
  expect(rows).toEqual(templates.map((template) => ({ template })))

  // A daemon of the version before, which still runs on the same database, creates a key set without a template.
  await after.ctx.db.write((trx) => sql`update "keySets" set template = null`.execute(trx))
  await after.ctx.keyRing.load(after.ctx.db.read)
  expect(await shown()).toMatchObject(forms.map((form, index) => ({ ...form, template: templates[index] })))
  const { d, e, c } = tap({ ...derived, ...forms[1] }, { uid: uids.jacket }, 3)
  const found = await after.app.inject({ url: tapPath({ ks: d, picc_data: e, cmac: c }, '/chips/find') })
  // Known keys, unknown chip.
  expect([
    found.statusCode,
    (await after.app.inject({ url: '/chips/find?ks=x&picc_data=1&cmac=2' })).statusCode,
  ]).toEqual([404, 400])
  await after.close()
})
