import { expect, test } from 'vitest'
import { openAdminApp } from '../support/admin.ts'
import { tap } from '../support/taps.ts'

// The keys that each tool documents for these chips: boltcard docs/DETERMINISTIC.md, sdm-backend tests/test_kdf.py
// (and its legacy_derive.py, run with Python's hashlib).
const chips = [
  {
    diversification: 'boltcard',
    uid: '04A39493CC8680',
    master: '00000000000000000000000000000001',
    systemIdentifier: '01000000',
    metaReadKey: '55da174c9608993dc27bb3f30a4a7314',
    chipKey: 'f4b404be700ab285e333e32348fa3d3b',
  },
  {
    diversification: 'sdm-backend',
    uid: '03030303030303',
    master: 'C9EB67DF090AFF47C3B19A2516680B9D',
    metaReadKey: 'a13086f194d7bdfd108dd11716ea2bdf',
    chipKey: '85f7cc459a5b4b2f5d1a5019ded61c88',
  },
  {
    diversification: 'sdm-backend-legacy',
    uid: '03030303030303',
    master: 'C9EB67DF090AFF47C3B19A2516680B9D',
    metaReadKey: 'a78399936d9887a07e7d3958ff8831f9',
    chipKey: 'dac1d59b625d779bc788ce502184fa9f',
  },
] as const

test.each(chips)('a tap of a chip with keys of $diversification is valid once', async (chip) => {
  const { uid, master, metaReadKey, chipKey, ...set } = chip
  const t = await openAdminApp({
    seed: {
      version: 1,
      keySets: [{ id: 7, metaReadKey, fileReadKey: master, ...set }],
      teams: [{ name: 'Acme', chipGroups: [{ name: 'G', chips: [{ uid, keySet: 7 }] }] }],
    },
  })
  const documented = {
    id: 7,
    metaReadKey,
    fileReadKey: chipKey,
    diversification: 'none',
    macInputFrom: null,
  } as const
  const find = (counter: number) =>
    t.call(`GET /chips/find?${new URLSearchParams(tap(documented, { uid }, counter))}`)
  const url = `GET /chips/find?${new URLSearchParams(tap(documented, { uid }, 3))}`
  expect((await t.call(url)).body).toMatchObject({ isValidTap: true })
  expect((await t.call(url)).body).toMatchObject({ isValidTap: false })
  expect((await find(4)).body).toMatchObject({ isValidTap: true })
  const other = { ...documented, fileReadKey: master }
  expect((await t.call(`GET /chips/find?${new URLSearchParams(tap(other, { uid }, 5))}`)).body).toMatchObject(
    { isValidTap: false },
  )
  await t.close()
})

test('a key set of another tool verifies chips and sets none up, and says so', async () => {
  const t = await openAdminApp()
  const { body } = await t.call('POST /admin/key-sets', {
    id: 7,
    metaReadKey: chips[0].metaReadKey,
    fileReadKey: chips[0].master,
    appMasterKey: chips[0].master,
    diversification: 'boltcard',
  })
  expect(body).toMatchObject({ diversification: 'boltcard', systemIdentifier: '', canProvision: false })
  const refused = await t.call('POST /admin/key-sets', {
    id: 8,
    metaReadKey: chips[0].metaReadKey,
    fileReadKey: chips[0].master,
    diversification: 'boltcard',
    systemIdentifier: '01',
  })
  expect(refused.status).toBe(400)
  expect(refused.body.message).toContain(
    'systemIdentifier must be the version of the bolt cards in four bytes',
  )
  await t.close()
})
