import { afterEach, beforeEach, expect, test } from 'vitest'
import { type AdminApp, openAdminApp, tenTimes } from '../support/admin.ts'

let t: AdminApp
beforeEach(async () => {
  t = await openAdminApp({
    seed: {
      version: 1,
      keySets: [{ id: 1, metaReadKey: '0'.repeat(32), fileReadKey: '0'.repeat(32), diversification: 'none' }],
      teams: [
        { name: 'Acme', chipGroups: [{ name: 'Full', chips: [{ uid: '04DE5F1EACC040', keySet: 1 }] }] },
        { name: 'Globex' },
      ],
    },
  })
})
afterEach(() => t.close())

test('a chip group is created, renamed, listed with its chips, and removed', async () => {
  const created = await t.call('POST /admin/chip-groups', { name: 'Jackets', team: 'Acme' })
  expect(created).toMatchObject({ status: 200, body: { id: 2, name: 'Jackets', team: 'Acme', chips: 0 } })
  const renamed = await t.call('PATCH /admin/chip-groups/2', { name: 'Coats' })
  expect(renamed.body).toEqual({ ...created.body, name: 'Coats' })
  const listed = (await t.call('GET /admin/chip-groups?team=Acme')).body
  expect(listed).toMatchObject([
    { name: 'Full', chips: 1 },
    { name: 'Coats', chips: 0 },
  ])
  expect((await t.call('DELETE /admin/chip-groups/2')).status).toBe(200)
  expect(await t.audit('action=chip-groups&actor=admin:root&team=Acme')).toMatchObject([
    { action: 'chip-groups.delete', target: 'Coats', team: 'Acme' },
    { action: 'chip-groups.edit', target: 'Coats', detail: { previous: 'Jackets' } },
    { action: 'chip-groups.create', target: 'Jackets' },
  ])
})

test('a name is taken once in a team, also by renaming, and is free in another', async () => {
  expect(await tenTimes(() => t.call('POST /admin/chip-groups', { name: 'X', team: 'Acme' }))).toEqual({
    200: 1,
    409: 9,
  })
  expect((await t.call('POST /admin/chip-groups', { name: 'X', team: 'Globex' })).status).toBe(200)
  expect(await t.call('PATCH /admin/chip-groups/2', { name: 'Full' })).toMatchObject({
    status: 409,
    body: { code: 'already_exists' },
  })
})

test('renaming a group to the name that it has changes nothing and records nothing', async () => {
  expect((await t.call('PATCH /admin/chip-groups/1', { name: 'Full' })).body).toMatchObject({
    name: 'Full',
    chips: 1,
  })
  expect(await t.audit('action=chip-groups.edit')).toEqual([])
})

test('a group that holds chips is not removed, and one that is not there is not found', async () => {
  expect(await t.call('DELETE /admin/chip-groups/1')).toMatchObject({ status: 409, body: { code: 'in_use' } })
  expect((await t.call('DELETE /admin/chip-groups/99')).status).toBe(404)
  expect((await t.call('PATCH /admin/chip-groups/99', { name: 'X' })).status).toBe(404)
  expect((await t.call('DELETE /admin/chip-groups/x')).status).toBe(400)
})
