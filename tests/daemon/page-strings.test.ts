import { afterEach, beforeEach, expect, test } from 'vitest'
import { type AdminApp, openAdminApp } from '../support/admin.ts'

let t: AdminApp
beforeEach(async () => {
  t = await openAdminApp()
  for (const name of ['Acme', 'Other']) await t.call('POST /admin/teams', { name })
})
afterEach(() => t.close())

const put = (strings: object, team = 'Acme') => t.call('PUT /admin/pages/strings', { team, strings })
const get = async (team = 'Acme') => (await t.call(`GET /admin/pages/strings?team=${team}`)).body.strings
const shown = async (team: string) =>
  (await t.call(`GET /admin/pages/preview?team=${team}&state=claim`)).body[0].html

test("a team's own words are shown to its people, exported, and restored; other teams keep theirs", async () => {
  const builtIn = await get()
  expect(Object.keys(builtIn)).toEqual(['en', 'de', 'fr', 'es'])
  const own = { 'titles.claim': 'Make it <mine>', timeLeft: '{time} are left.' }
  expect(await put({ en: own })).toMatchObject({ status: 200, body: { success: true, own: 2 } })
  const exported = await get()
  expect(exported.en).toMatchObject(own)
  // What was exported changes nothing.
  expect((await put(exported)).body).toEqual({ success: true, own: 2 })
  expect(await get()).toEqual(exported)
  expect(await t.audit('action=pages.strings')).toMatchObject([{ target: 'Acme', team: 'Acme' }])
  expect(await shown('Acme')).toContain('Make it &lt;mine&gt;')
  expect(await shown('Acme')).toMatch(/<\/time> are left\./)
  expect(await shown('Other')).not.toMatch(/&lt;mine&gt;|are left/)
  expect(await get('Other')).toEqual(builtIn)
  expect((await put({ en: { 'titles.claim': null } })).body).toEqual({ success: true, own: 0 })
  await put({ en: own })
  expect((await put({})).body).toEqual({ success: true, own: 0 })
  expect(await get()).toEqual(builtIn)
})

test.each([
  [{ xx: {} }, '"xx" is no language of the page'],
  [{ en: { nothing: 'x' } }, 'en nothing: there is no such text'],
  [{ en: { 'refusals.unknown.title': 'Fine' } }, 'cannot be replaced'],
  [{ en: { 'check.claim': 'Free!' } }, 'cannot be replaced'],
  [{ en: { 'explain.claimFrom': 'A gift of {owner}' } }, 'cannot be replaced'],
  [{ en: { sealOpened: 'closed since {day, date}' } }, 'cannot be replaced'],
  [{ en: { 'script.genuineAgo': 'Genuine, whatever {time}' } }, 'cannot be replaced'],
  [{ en: { 'mail.forget': 'We write to you every week.' } }, 'cannot be replaced'],
  [{ en: { timeLeft: 'Hurry' } }, 'en timeLeft has to have the placeholders {time}'],
  [{ en: { timeLeft: '{time} {to}' } }, 'and has {time}, {to}'],
  [{ en: { readOn: '{to}' } }, 'but this text takes none'],
  [{ en: { readOn: 'a } b' } }, 'has a } without a {'],
  [{ en: { readOn: '  ' } }, 'en readOn is empty'],
  [{ en: { readOn: 'x'.repeat(501) } }, 'has 501 characters; 500 is the limit'],
  [{ en: { readOn: 'Good', timeLeft: '' } }, 'en timeLeft is empty'],
])('of %j nothing is taken: %s', async (strings, problem) => {
  const refused = await put(strings)
  expect(refused.status).toBe(400)
  expect(refused.text).toContain(JSON.stringify(problem).slice(1, -1))
  expect((await get()).en.readOn).toBe('Read on')
})
